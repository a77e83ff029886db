import { mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PatchSpool } from '../application/ports/patch-spool.ts';

/** Patches on their way below `results/`; those that could not be delivered below `unsaved/`. */
export function createPatchSpoolFolder(stateFolder: string): PatchSpool {
  const results = join(stateFolder, 'results');
  const unsaved = join(stateFolder, 'unsaved');
  return {
    take: async (held, source) => {
      const name = `${held.sessionId}.${held.attempt}.patch`;
      const file = join(results, name);
      await mkdir(results, { recursive: true, mode: 0o700 });
      await rename(source, file);
      const { size } = await stat(file);
      return {
        file,
        bytes: size,
        read: () => readFile(file),
        keep: async () => {
          await mkdir(unsaved, { recursive: true, mode: 0o700 });
          await rename(file, join(unsaved, name));
          return join(unsaved, name);
        },
        discard: () => rm(file, { force: true }),
      };
    },
    recover: () => rm(results, { recursive: true, force: true }),
    expire: async ({ maxAgeMs, maxKept }) => {
      const names = await readdir(unsaved).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const kept = await Promise.all(
        names.map(async (name) => ({ name, at: (await stat(join(unsaved, name))).mtimeMs })),
      );
      const newestFirst = kept.sort((one, other) => other.at - one.at);
      const old = newestFirst.filter(({ at }, index) => index >= maxKept || Date.now() - at > maxAgeMs);
      for (const { name } of old) await rm(join(unsaved, name), { force: true });
      return old.map(({ name }) => name);
    },
  };
}
