import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether a folder on the way to `path` lets only its owner through, as /root does. */
export function liesInClosedFolder(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return true;
    if (folder === dirname(folder)) return false;
  }
}
