import { prepareSeal, sealOnce } from '../application/seal-log.ts';
import type { SealDeps, SealPlace } from '../application/seal-log.ts';
import type { Log } from '../log.ts';
import { startJob } from './loop.ts';
import type { Job } from './loop.ts';

/** Seals the log on a timer, and once more when it is stopped; `sealed` is told after each pass. */
export function startSeal(deps: SealDeps, log: Log, sealed: () => void): Job {
  let place: SealPlace | null = null;
  return startJob({
    name: 'seal',
    everyMs: deps.everyMs,
    mostBackoffMs: 30_000,
    log,
    pass: async () => {
      place ??= await prepareSeal(deps);
      const more = await sealOnce(deps, place);
      sealed();
      return more;
    },
  });
}
