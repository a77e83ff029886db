import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
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
  };
}
