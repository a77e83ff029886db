import { spawn } from 'node:child_process';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

export interface GitRun {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  readonly signal?: AbortSignal;
}

const maxOutputBytes = 1024 * 1024 * 1024;

/**
 * Runs git in the person's own repository, as the person. Their hooks and file-system monitor stay out of it: nothing
 * that we do may run code of the repository.
 */
export function git(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitRun> {
  const settings = [
    '-c',
    'core.hooksPath=/dev/null',
    '-c',
    'core.fsmonitor=false',
    '-c',
    'core.quotePath=false',
  ];
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...settings, ...args], {
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C.UTF-8', GIT_TERMINAL_PROMPT: '0', ...options.env },
      stdio: 'pipe',
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const out: Buffer[] = [];
    let outBytes = 0;
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      outBytes += chunk.length;
      if (outBytes > maxOutputBytes) child.kill('SIGKILL');
      else out.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString('utf8')}`.slice(-8192);
    });
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') reject(error);
    });
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ENOENT'
          ? new CodedError(
              'package_missing',
              `git cannot be started in ${folder}. Install git, or give another folder.`,
            )
          : error,
      ),
    );
    child.on('close', (code) => resolve({ exitCode: code ?? 128, stdout: Buffer.concat(out), stderr }));
    child.stdin.end(options.stdin);
  });
}

/** The same for a run that has to succeed; its trimmed output. @throws CodedError `repository_broken` with git's words */
export async function gitText(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string> {
  const run = await git(folder, args, options);
  if (run.exitCode === 0) return run.stdout.toString('utf8').trim();
  throw new CodedError(
    'repository_broken',
    `git ${args[0] ?? ''} failed in ${folder}: ${run.stderr.trim().slice(-800)}`,
  );
}
