import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import type { Term } from '../application/ports/term.ts';
import type { Sink } from '../application/ports/sink.ts';
import { resendBatch } from '../application/resend-range.ts';
import { resumeSink, shipBatch, shipCheckpoints } from '../application/ship-to-sink.ts';
import type { OnShipped } from '../application/trace-shipped.ts';
import { errorFields } from '../log.ts';
import type { Log } from '../log.ts';
import { startJob } from './loop.ts';
import type { Job } from './loop.ts';

export interface ShipJob extends Job {
  readonly sink: string;
  /** Index to deliver next; null before the sink has been opened. */
  next(): number | null;
}

/** Ships to one sink. Each sink has a job of its own, so a hung or failing one delays nobody. */
export function startShip(
  { store, seals }: Pick<Term, 'store' | 'seals'>,
  sink: Sink,
  log: Log,
  traced: { readonly onShipped: OnShipped; readonly now: () => Date } | null = null,
): ShipJob {
  let next: number | null = null;
  const resume = async (): Promise<number> => {
    const from = await resumeSink({ store, seals }, sink);
    log('info', `ship ${sink.name} goes on`, { index: from });
    return from;
  };
  const job = startJob({
    name: `ship ${sink.name}`,
    everyMs: 1_000,
    mostBackoffMs: 30_000,
    log,
    pass: async () => {
      try {
        const from = next ?? (await resume());
        const startMs = traced?.now().getTime() ?? 0;
        const told =
          traced === null
            ? null
            : (batch: readonly IndexedEntry[]) =>
                traced.onShipped(sink.name, batch, startMs).catch((error: unknown) => {
                  // What has arrived has arrived, whether anybody traces it or not.
                  log('warn', `ship ${sink.name}: no span could be made`, errorFields(error));
                });
        next = await shipBatch({ store, seals }, sink, from, told);
        const more = await shipCheckpoints(seals, sink, next);
        const again = await resendBatch({ store, seals }, sink);
        return more || again || next > from;
      } catch (error) {
        // nobody knows what has arrived: the next pass asks the sink
        next = null;
        await sink.close();
        throw error;
      }
    },
  });
  return {
    ...job,
    sink: sink.name,
    next: () => next,
    stop: async () => {
      await job.stop();
      await sink.close();
    },
  };
}
