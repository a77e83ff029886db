import { posix } from 'node:path';

const workspace = '/workspace';

/** A path as our tools and the policy know it: relative to the working copy where it lies in it, else absolute. */
export function insidePath(path: string): string {
  const absolute = posix.resolve(workspace, path);
  if (absolute === workspace) return '.';
  return absolute.startsWith(`${workspace}/`) ? absolute.slice(workspace.length + 1) : absolute;
}
