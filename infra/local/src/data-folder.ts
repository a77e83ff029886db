import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

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
 */
export function openDataFolder(
  environment: Readonly<Record<string, string | undefined>>,
  projectRoot: string,
): DataFolder {
  const root = resolve(projectRoot, environment['LEMNISCATE_DATA'] || '.lemniscate');
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o711);
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
