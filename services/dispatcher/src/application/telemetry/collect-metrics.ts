import type { Clock } from '@lemniscate/shared/clock.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import type { Database } from '../ports/transaction.ts';
import { fleetMetrics } from './fleet-metrics.ts';
import { createHappenedCounters } from './happened-counters.ts';

export interface CollectDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** What this process knows by itself. */
  readonly ofProcess: () => readonly MetricFamily[];
}

/** Scrapers that come in a crowd share one look at the record. Milliseconds. */
const freshMs = 2_000;

/** Everything that a dispatcher says of itself and of the fleet. The record is asked when somebody asks us, not before. */
export function createMetricsCollector({
  database,
  clock,
  ofProcess,
}: CollectDeps): () => Promise<readonly MetricFamily[]> {
  const happened = createHappenedCounters();
  let looking: { readonly atMs: number; readonly families: Promise<readonly MetricFamily[]> } | null = null;

  const look = async (): Promise<readonly MetricFamily[]> => {
    const [fleet] = await Promise.all([fleetMetrics(database), happened.advance(database)]);
    return [...fleet, ...happened.families()];
  };

  return async () => {
    const nowMs = clock.monotonicMs();
    if (looking === null || nowMs - looking.atMs > freshMs) {
      // One at a time: the counters move on from where the last look stood.
      const before = looking?.families.catch(() => undefined) ?? Promise.resolve();
      looking = { atMs: nowMs, families: before.then(look) };
    }
    return [...(await looking.families), ...ofProcess()];
  };
}
