import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { IdMaps } from './users.ts';

/**
 * Two user namespaces, one inside the other, as open descriptors. In the outer one the host's root is mapped:
 * bwrap builds the walls there and can mount what lies behind folders that only root may pass. Then it moves
 * into the inner one, where the host's root does not exist, so nothing inside can become it; and since the
 * mounts belong to the outer one, no capability of the inner one reaches them.
 */
export interface UserNamespaces {
  readonly outer: number;
  readonly inner: number;
}

const deadlineMs = 10_000;
const env = { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' };

/** Says that it is in its namespace, then lives until its standard input is closed. */
const hold = ['unshare', '--user', 'sh', '-c', 'echo up; exec cat'];

/** A process that keeps a new user namespace alive while its maps are written. */
async function holder(argv: readonly string[]): Promise<ChildProcess & { readonly pid: number }> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    cwd: '/',
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const signal = AbortSignal.timeout(deadlineMs);
  const gone = once(child, 'exit', { signal }).then(() =>
    Promise.reject(new Error(`${program} ended early`)),
  );
  gone.catch(() => undefined); // it also ends once it has served
  if (child.stdout === null) throw new Error(`${program} has no output`);
  await Promise.race([once(child.stdout, 'data', { signal }), gone]);
  return child as ChildProcess & { readonly pid: number };
}

/** Makes both. Needs root; tens of milliseconds, once for many sandboxes. */
export async function createUserNamespaces(uids: IdMaps, gids: IdMaps): Promise<UserNamespaces> {
  const first = await holder(hold);
  let second: ChildProcess | undefined;
  let outer: number | undefined;
  try {
    writeFileSync(`/proc/${first.pid}/uid_map`, uids.outer);
    writeFileSync(`/proc/${first.pid}/gid_map`, gids.outer);
    outer = openSync(`/proc/${first.pid}/ns/user`, 'r');
    const enter = ['nsenter', `--user=/proc/${first.pid}/ns/user`, '--'] as const;
    const nested = await holder([...enter, ...hold]);
    second = nested;
    // the kernel takes a namespace's map from its parent namespace alone
    const write = 'printf "%s" "$1" > "/proc/$0/uid_map" && printf "%s" "$2" > "/proc/$0/gid_map"';
    const [program, ...prefix] = enter;
    const args = [...prefix, 'sh', '-c', write, String(nested.pid), uids.inner, gids.inner];
    await promisify(execFile)(program, args, { cwd: '/', env, timeout: deadlineMs });
    return { outer, inner: openSync(`/proc/${nested.pid}/ns/user`, 'r') };
  } catch (error) {
    if (outer !== undefined) closeSync(outer);
    throw error;
  } finally {
    first.stdin?.end();
    second?.stdin?.end();
  }
}
