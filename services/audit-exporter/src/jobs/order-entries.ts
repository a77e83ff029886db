import type { LogStore } from '../application/ports/log-store.ts';
import type { Log } from '../log.ts';
import { startJob } from './loop.ts';
import type { Job } from './loop.ts';

const batch = 1_000;

/** Gives committed entries their place in the whole log; `ordered` is told after each batch. */
export function startOrderEntries(store: LogStore, log: Log, ordered: () => void): Job {
  return startJob({
    name: 'order-entries',
    everyMs: 1_000,
    mostBackoffMs: 5_000,
    log,
    pass: async () => {
      const count = await store.order(batch);
      if (count > 0) ordered();
      return count === batch;
    },
  });
}
