import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The name under which a server owns things that lie outside its state folder: control groups and containers. The
 * server's id alone does not do: two fleets on one machine both have an `agent-server-1`, and the one that starts later
 * would take the other's live sandboxes for leftovers and destroy them (seen when two were started side by side).
 * The mark lives in the state folder, so a restarted server finds its own again and nobody else's.
 */
export function readOwnerMark(stateFolder: string, serverId: string): string {
  mkdirSync(stateFolder, { recursive: true });
  const file = join(stateFolder, 'owner-mark');
  return `${serverId}-${readMark(file) ?? makeMark(file)}`;
}

function readMark(file: string): string | null {
  try {
    return /^[0-9a-f]{12}$/.exec(readFileSync(file, 'utf8'))?.[0] ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Two drivers may open one state folder at once: whoever links first names the mark for both. */
function makeMark(file: string): string {
  const mark = randomBytes(6).toString('hex');
  const draft = `${file}.${mark}`;
  writeFileSync(draft, mark);
  try {
    linkSync(draft, file);
    return mark;
  } catch (error) {
    const theirs = readMark(file);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || theirs === null) throw error;
    return theirs;
  } finally {
    rmSync(draft, { force: true });
  }
}
