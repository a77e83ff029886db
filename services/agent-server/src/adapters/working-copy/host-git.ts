import { execFile } from 'node:child_process';
import { gitEnvironment } from './git-environment.ts';

export interface HostGitResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs git on the host with the hardened environment; bounded in time and output, never rejects for an exit code. */
export type HostGit = (
  args: readonly string[],
  options: {
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
    readonly protocols?: readonly string[];
    readonly extra?: Readonly<Record<string, string>>;
    readonly stdin?: string;
    /** Bytes; 16 MiB where nothing is said. */
    readonly maxOutputBytes?: number;
    /** Bytes of one file that git may write; past it git is ended by SIGXFSZ. */
    readonly maxFileBytes?: number;
  },
) => Promise<HostGitResult>;

/** The bound is set by a shell, which counts in blocks of 512 bytes and is git a moment later. */
function bounded(args: readonly string[], maxFileBytes: number | undefined): [string, string[]] {
  if (maxFileBytes === undefined) return ['git', [...args]];
  const blocks = String(Math.ceil(maxFileBytes / 512));
  return ['/bin/sh', ['-c', 'ulimit -f "$0" && exec git "$@"', blocks, ...args]];
}

/** @param configFile file with `gitConfigText()` */
export const createHostGit =
  (configFile: string): HostGit =>
  (args, options) =>
    new Promise((resolve, reject) => {
      const child = execFile(
        ...bounded(args, options.maxFileBytes),
        {
          env: gitEnvironment(configFile, options),
          signal: options.signal,
          timeout: options.timeoutMs,
          killSignal: 'SIGKILL',
          maxBuffer: options.maxOutputBytes ?? 16 * 1024 * 1024,
          encoding: 'utf8',
        },
        (error, stdout, stderr) => {
          if (error === null) return resolve({ exitCode: 0, stdout, stderr });
          if (typeof error.code === 'number') return resolve({ exitCode: error.code, stdout, stderr });
          if (error.killed === true && error.name !== 'AbortError')
            return resolve({
              exitCode: 124,
              stdout,
              stderr: `${stderr}\ntimed out after ${options.timeoutMs} ms`,
            });
          return reject(error);
        },
      );
      // git that ends before it has read everything says so by its exit code
      child.stdin?.on('error', () => child.stdin?.destroy());
      child.stdin?.end(options.stdin ?? '');
    });
