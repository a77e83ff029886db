import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';
import { liesInClosedFolder } from './process/closed-folder.ts';

const isRoot = () => process.getuid?.() === 0;

/** Where state goes when the data folder cannot be passed through; beside it in name only, by a kept id. */
const stateRoot = '/var/lib/lemniscate';

/**
 * A folder of the fleet that unprivileged users can pass through: sandboxes started by root run as another user, who
 * cannot reach a data folder under /root. It lies in the data folder where that does, else under /var/lib/lemniscate.
 */
export function passableFolder(data: DataFolder, name: string): string {
  const inside = data.folder(name, 0o711);
  if (!isRoot() || !liesInClosedFolder(data.root)) return inside;
  const folder = join(stateRoot, keptId(data), name);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return folder;
}

function keptId(data: DataFolder): string {
  const file = data.path('id');
  if (!existsSync(file)) writeFileSync(file, randomBytes(8).toString('hex'));
  return readFileSync(file, 'utf8');
}

/**
 * Opens `/` for passage where only root can pass, as in a root file system unpacked with the mode of a temporary
 * folder: no unprivileged program can work there, and Debian ships it open (0755). Says what it does.
 */
export function openRootFolder(say: (line: string) => void): void {
  const { mode } = statSync('/');
  if (!isRoot() || (mode & 0o001) !== 0) return;
  say(
    `/ lets nobody but root pass (mode ${(mode & 0o777).toString(8)}); opening it, as Debian ships it: chmod 755 /`,
  );
  chmodSync('/', 0o755);
}
