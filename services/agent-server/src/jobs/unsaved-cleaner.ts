import type { Log } from '../application/ports/log.ts';
import type { PatchSpool } from '../application/ports/patch-spool.ts';

/** Keeps patches that could not be handed over from filling the disk. */
export interface UnsavedCleaner {
  start(): void;
  stop(): void;
}

/** An operator has two weeks to come for a patch; a store that is away for long must not cost the disk. */
const bounds = { maxAgeMs: 14 * 24 * 3_600_000, maxKept: 1000 };
const everyMs = 3_600_000;

export function createUnsavedCleaner(spool: Pick<PatchSpool, 'expire'>, log: Log): UnsavedCleaner {
  let timer: NodeJS.Timeout | undefined;
  const clean = (): void => {
    spool.expire(bounds).then(
      (removed) => {
        if (removed.length > 0) log.warn({ removed }, 'patches that nobody came for were removed');
      },
      (error: unknown) => log.error({ error: String(error) }, 'kept patches could not be looked through'),
    );
  };
  return {
    start: () => {
      clean();
      timer = setInterval(clean, everyMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}
