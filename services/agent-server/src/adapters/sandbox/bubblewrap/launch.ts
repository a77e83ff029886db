import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Cgroup } from '../kernel/cgroup.ts';
import { killLaunch } from './orphans.ts';
import { createTail } from '../tail.ts';
import type { UserNamespaces } from './user-namespaces.ts';

/** How one bwrap is started. */
export interface Launch {
  readonly name: string;
  readonly bwrap: string;
  /** Given over a descriptor: PID 1 of the sandbox shows its command line to everyone inside. */
  readonly walls: readonly string[];
  readonly argv: readonly string[];
  readonly seccompFile: string;
  /** With root's rights; null where bwrap makes a user namespace of its own, with one uid in it. */
  readonly namespaces: UserNamespaces | null;
  readonly cgroup: Cgroup | null;
}

/** A started bwrap: its own process outside, and PID 1 inside. */
export interface Launched {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Host pid of the sandbox' PID 1. */
  readonly initPid: number;
  /** Settles when bwrap's outer process is gone. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The last words on standard error. */
  stderr(): string;
}

const infoDeadlineMs = 10_000;

/**
 * Starts bwrap and lets it go on once its PID 1 is in its control group: bwrap waits for that on `--block-fd`
 * before it forks, so nothing of the sandbox has run before its bounds hold.
 * @throws CodedError `sandbox_start_failed`
 */
export async function launch(options: Launch): Promise<Launched> {
  const { namespaces } = options;
  const seccomp = openSync(options.seccompFile, 'r');
  const descriptors = '--args 6 --info-fd 3 --block-fd 4 --seccomp 5'.split(' ');
  const user = namespaces === null ? ['--unshare-user'] : '--userns 7 --userns2 8'.split(' ');
  let child: ChildProcess;
  try {
    child = spawn(options.bwrap, [...descriptors, ...user, '--', ...options.argv], {
      cwd: '/',
      env: {},
      stdio: [
        ...(['pipe', 'pipe', 'pipe', 'pipe', 'pipe', seccomp, 'pipe'] as const),
        ...(namespaces === null ? [] : [namespaces.outer, namespaces.inner]),
      ],
    });
  } finally {
    closeSync(seccomp);
  }
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', () => resolve({ code: null, signal: null }));
  });
  const tail = createTail(4096);
  child.stderr?.on('data', (chunk: Buffer) => tail.add(chunk));
  const [, , , info, block, , args] = child.stdio as unknown as Duplex[];
  for (const pipe of [info, block, args, child.stderr]) pipe?.on('error', () => pipe.destroy());
  args?.end(options.walls.map((word) => `${word}\0`).join(''));
  try {
    const initPid = await readInitPid(info, exited, tail.text);
    options.cgroup?.add(initPid);
    block?.end();
    if (child.stdin === null || child.stdout === null) throw new Error('no standard input or output');
    return { child, stdin: child.stdin, stdout: child.stdout, initPid, exited, stderr: tail.text };
  } catch (error) {
    if (child.pid !== undefined) killLaunch(child.pid);
    const reason = error instanceof Error ? error.message : String(error);
    throw new CodedError('sandbox_start_failed', `${options.name} did not start: ${reason}.`, {}, error);
  }
}

/** bwrap writes one JSON object and closes the descriptor. */
function readInitPid(
  info: Readable | undefined,
  exited: Promise<unknown>,
  stderr: () => string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(
      () => reject(new Error(`bwrap said nothing within ${infoDeadlineMs} ms`)),
      infoDeadlineMs,
    );
    const settle = (): void => {
      clearTimeout(timer);
      const match = /"child-pid"\s*:\s*(\d+)/.exec(text);
      if (match === null) return reject(new Error(stderr().trim() || 'bwrap ended without a word'));
      resolve(Number(match[1]));
    };
    info?.on('data', (chunk: Buffer) => {
      if (text.length < 4096) text += chunk.toString('latin1');
      if (text.trimEnd().endsWith('}')) settle();
    });
    void exited.then(() => setTimeout(settle, 50));
  });
}
