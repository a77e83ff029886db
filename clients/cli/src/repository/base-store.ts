import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Scratch } from './scratch.ts';

/** Uncommitted states that are kept for a later merge; the oldest go first. */
const keptBases = 20;
/** An uncommitted state past this is not kept: its diff then applies only where its lines are found. */
const maxBaseBytes = 64 * 1024 * 1024;

/**
 * Where uncommitted states live that sessions began with, a folder of git objects each, named by its tree. They are in
 * the person's cache and not in the repository, which must not change by a byte.
 */
function baseFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const cache = environment['XDG_CACHE_HOME'];
  return join(cache === undefined || cache === '' ? join(homedir(), '.cache') : cache, 'lemniscate', 'bases');
}

/** Folder of git objects that completes a tree which was never committed, if it is still kept. */
export function baseObjects(tree: string): string | undefined {
  const folder = join(baseFolder(), tree);
  return existsSync(folder) ? folder : undefined;
}

async function bytesOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => stat(join(entry.parentPath, entry.name)).then(({ size }) => size)),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function dropOldest(folder: string): Promise<void> {
  const names = await readdir(folder);
  const dated = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })),
  );
  const surplus = dated.sort((left, right) => right.at - left.at).slice(keptBases);
  for (const { name } of surplus) await rm(join(folder, name), { recursive: true, force: true });
}

// A home that cannot be written to. What is lost is the three-way merge, and `apply` says so when it matters.
const notKeeping = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR']);

/** Keeps the objects of an uncommitted state, without which `apply` could not merge three ways. */
export async function keepBase(scratch: Scratch, tree: string): Promise<void> {
  const objects = join(scratch.folder, 'objects');
  if ((await bytesOf(objects)) > maxBaseBytes) return;
  const folder = baseFolder();
  // Renamed into place, so that a half copy is never taken for a base.
  const making = join(folder, `${tree}.${process.pid}`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await cp(objects, making, { recursive: true });
    await rm(join(folder, tree), { recursive: true, force: true });
    await rename(making, join(folder, tree));
    await dropOldest(folder);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!notKeeping.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
