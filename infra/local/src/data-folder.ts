import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Where a local fleet keeps everything it owns: one folder, removed by removing it. */
export interface DataFolder {
  readonly root: string;
  /** Absolute path of something inside. */
  path(...parts: string[]): string;
  /** Makes a folder inside, readable by its owner alone unless said otherwise; returns its path. */
  folder(name: string, mode?: number): string;
  /** A random text kept in a 0600 file: made at the first call, the same ever after. */
  keptSecret(name: string): string;
}

/**
 * Opens (and makes) the data folder. `LEMNISCATE_DATA` overrides `.lemniscate` in the project root.
 * The root is 0711: the unprivileged user of the embedded databases passes through, and can list nothing.
 * @throws CodedError `configuration_invalid` for a place that is no folder, another account's, or in use for other things
 */
export function openDataFolder(
  environment: Readonly<Record<string, string | undefined>>,
  projectRoot: string,
): DataFolder {
  const root = resolve(projectRoot, environment['LEMNISCATE_DATA'] || '.lemniscate');
  takeRoot(root);
  const path = (...parts: string[]) => join(root, ...parts);
  const folder = (name: string, mode = 0o700) => {
    mkdirSync(path(name), { recursive: true, mode });
    return path(name);
  };
  const keptSecret = (name: string) => {
    const file = join(folder('secrets'), name);
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const text = randomBytes(24).toString('base64url');
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    return text;
  };
  return { root, path, folder, keptSecret };
}

/** What only a data folder holds; made by the first steps of a start. */
const ownParts: readonly string[] = ['holder.json', 'ports.json', 'secrets', 'logs', 'run', 'certificates'];

// The mode of a folder that is not ours must not change: LEMNISCATE_DATA=/tmp would close /tmp to everybody else.
function takeRoot(root: string): void {
  try {
    mkdirSync(root, { recursive: true });
    const { uid } = statSync(root);
    const own = process.getuid?.();
    if (own !== undefined && uid !== own) throw refused(root, `belongs to the account ${uid}, not to ${own}`);
    const found = readdirSync(root);
    if (found.length > 0 && !found.some((name) => ownParts.includes(name)))
      throw refused(root, 'holds other things already');
    chmodSync(root, 0o711);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw refused(root, 'is not a folder');
    if (code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC' || code === 'EPERM')
      throw refused(root, `cannot be written (${code})`);
    throw error;
  }
}

function refused(root: string, why: string): CodedError {
  return new CodedError(
    'configuration_invalid',
    `The data folder ${root} ${why}. Set LEMNISCATE_DATA to a new or empty folder of this account.`,
    { folder: root },
  );
}
