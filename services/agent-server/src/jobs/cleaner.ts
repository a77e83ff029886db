import type { Environments } from '../application/ports/environments.ts';
import type { Log } from '../application/ports/log.ts';
import type { PatchSpool } from '../application/ports/patch-spool.ts';
import type { WorkingCopies } from '../application/ports/working-copies.ts';

/** Keeps what a server stores for later from filling its disk: patches that nobody came for, and cached repositories. */
export interface Cleaner {
  start(): void;
  stop(): void;
}

/** An operator has two weeks to come for a patch; a store that is away for long must not cost the disk. */
const keptPatches = { maxAgeMs: 14 * 24 * 3_600_000, maxKept: 1000 };
const everyMs = 2 * 60_000;

export function createCleaner(deps: {
  readonly spool: Pick<PatchSpool, 'expire'>;
  readonly workingCopies: Pick<WorkingCopies, 'tidy'>;
  readonly environments: Pick<Environments, 'tidy'>;
  readonly log: Log;
}): Cleaner {
  const { log } = deps;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  async function clean(): Promise<void> {
    const patches = await deps.spool.expire(keptPatches);
    if (patches.length > 0) log.warn({ removed: patches }, 'patches that nobody came for were removed');
    const trees = await deps.environments.tidy();
    if (trees.length > 0) log.info({ removed: trees }, 'environments that were long unused were removed');
    const mirrors = await deps.workingCopies.tidy();
    if (mirrors.length > 0) log.info({ removed: mirrors }, 'cached repositories were removed');
  }

  function run(): void {
    if (running) return;
    running = true;
    clean()
      .catch((error: unknown) => log.error({ err: error }, 'the disk could not be cleaned'))
      .finally(() => {
        running = false;
      });
  }

  return {
    start: () => {
      run();
      timer = setInterval(run, everyMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}
