import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { endingWithUs } from '../ending-with-us.ts';
import { gitEnvironment } from './git-environment.ts';

export interface HostGitResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface HostGitOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly protocols?: readonly string[];
  readonly extra?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Bytes; 16 MiB where nothing is said. */
  readonly maxOutputBytes?: number;
  /** Bytes of one file that git may write; past it git is ended by SIGXFSZ. */
  readonly maxFileBytes?: number;
}

/** Runs git on the host with the hardened environment; bounded in time and output, never rejects for an exit code. */
export type HostGit = (args: readonly string[], options: HostGitOptions) => Promise<HostGitResult>;

const usualOutputBytes = 16 * 1024 * 1024;
/** The exit code of `timeout`, for a git that was ended for its time. */
const timedOutCode = 124;

/** The bound is set by a shell, which counts in blocks of 512 bytes and is git a moment later. */
function bounded(args: readonly string[], maxFileBytes: number | undefined): [string, string[]] {
  if (maxFileBytes === undefined) return ['git', [...args]];
  const blocks = String(Math.ceil(maxFileBytes / 512));
  return ['/bin/sh', ['-c', 'ulimit -f "$0" && exec git "$@"', blocks, ...args]];
}

/** git's helpers (`remote-https`, `index-pack`, ssh) are in its group and would outlive it by as long as a remote lets them. */
function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What a stream says, up to a bound, past which `tooMuch` is called once and the rest is dropped. */
async function collect(from: Readable, maxBytes: number, tooMuch: () => void): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    const before = bytes;
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    else if (before <= maxBytes) tooMuch();
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @param configFile file with `gitConfigText()`; it also tells whose git it is, see `endOrphanedGit` */
export const createHostGit =
  (configFile: string): HostGit =>
  async (args, options) => {
    const { signal, timeoutMs, maxOutputBytes = usualOutputBytes } = options;
    signal.throwIfAborted();
    const child = spawn(...endingWithUs(...bounded(args, options.maxFileBytes)), {
      env: gitEnvironment(configFile, options),
      detached: true, // the leader of a group of its own
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let overflowed = false;
    let timedOut = false;
    const end = (): void => endGroup(child.pid);
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    child.once('exit', end);
    const tooMuch = (): void => {
      overflowed = true;
      end();
    };
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    // git that ends before it has read everything says so by its exit code
    child.stdin.on('error', () => child.stdin.destroy());
    child.stdin.end(options.stdin ?? '');
    try {
      const [[code, killedBy], stdout, stderr] = await Promise.all([
        closed,
        collect(child.stdout, maxOutputBytes, tooMuch),
        collect(child.stderr, maxOutputBytes, tooMuch),
      ]);
      signal.throwIfAborted();
      const late = `${stderr}\ntimed out after ${timeoutMs} ms`;
      if (timedOut) return { exitCode: timedOutCode, stdout, stderr: late };
      if (code !== null && !overflowed) return { exitCode: code, stdout, stderr };
      const how = overflowed ? `said more than ${maxOutputBytes} bytes` : `was ended by ${killedBy}`;
      throw new Error(`git ${args.join(' ').slice(0, 500)} ${how}: ${stderr.slice(-500)}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  };
