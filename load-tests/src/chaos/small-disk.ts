import { spawnSync } from 'node:child_process';

/** Where a simulated server's state lies on a small disk of its own. */
export interface ServerDisk {
  readonly server: string;
  readonly folder: string;
  /** Why the server was out of the rotation each time that it was full, as its operator reads it; null: it was in. */
  readonly reasons: (string | null)[];
}

/** A disk that can be filled without harm to anybody else. @returns false where we may not mount */
export function mountSmallDisk(at: string, size: string, undo: AsyncDisposableStack): boolean {
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at]).status === 0;
  if (mounted) undo.defer(() => void spawnSync('umount', ['-l', at]));
  return mounted;
}
