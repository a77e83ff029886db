import { lstatSync, readlinkSync } from 'node:fs';
import type { SandboxMount } from '../../../application/ports/sandbox-driver.ts';

/** What the walls of one sandbox depend on. Sizes in bytes. */
export interface Walls {
  /** Host folder that becomes /etc. */
  readonly etcFolder: string;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly mounts: readonly SandboxMount[];
}

/** /bin, /lib, … are links into /usr on merged hosts and folders on others. */
function rootEntry(path: string): string[] {
  try {
    return lstatSync(path).isSymbolicLink()
      ? ['--symlink', readlinkSync(path), path]
      : ['--ro-bind', path, path];
  } catch {
    return []; // not on this machine
  }
}

/**
 * bwrap's arguments for the walls: every namespace but the user's, which the launch adds, no capability, a root that holds the host's /usr read-only
 * and nothing else of the host. Tmpfs sizes are given because bwrap's own default is half of the memory. bwrap
 * covers /proc/sys and its kin itself where they could be written.
 */
export function wallArguments(walls: Walls): string[] {
  const tmpfs = (path: string, bytes: number): string[] => [
    ...words`--perms 1777 --size`,
    String(bytes),
    '--tmpfs',
    path,
  ];
  return [
    words`--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --die-with-parent --new-session --clearenv --hostname sandbox --cap-drop ALL`,
    words`--ro-bind /usr /usr`,
    ['/bin', '/sbin', '/lib', '/lib64', '/lib32'].flatMap(rootEntry),
    ['--ro-bind', walls.etcFolder, '/etc'],
    words`--ro-bind-try /etc/alternatives /etc/alternatives`,
    words`--proc /proc`,
    // read-only once filled: it is a tmpfs too
    [...words`--dev /dev`, ...tmpfs('/dev/shm', walls.shmBytes), ...words`--remount-ro /dev`],
    tmpfs('/tmp', walls.tmpBytes),
    words`--perms 0755 --dir /home --perms 0755 --dir /run --perms 0755 --dir /run/lemniscate --perms 0755 --dir /var --symlink /tmp /var/tmp`,
    // bwrap makes what is missing on the way to a target as 0700 of the outer root, which the user could not pass
    walls.mounts
      .flatMap(({ target }) => foldersAbove(target))
      .flatMap((path) => [...words`--perms 0755 --dir`, path]),
    walls.mounts.flatMap(({ source, target, readOnly }) => [
      readOnly ? '--ro-bind' : '--bind',
      source,
      target,
    ]),
    words`--remount-ro /`,
  ].flat();
}

/** `/a/b` for `/a/b/c`, after `/a`. */
function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}

function words(text: TemplateStringsArray): string[] {
  return (text[0] ?? '').split(' ');
}
