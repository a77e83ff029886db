import type { PoolView } from '@lemniscate/shared/api/pool.ts';
import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import type { WaitingLane } from '@lemniscate/shared/queue/outlook.ts';
import type { MetricName } from '@lemniscate/shared/telemetry/metric-catalogue.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { adviseScaling } from '@lemniscate/shared/queue/scaling.ts';
import type { Transaction } from '../ports/transaction.ts';
import { pinnedPool } from './configured-server.ts';
import { countHeld } from './held-sessions.ts';
import { listServers, usableCapacity } from './server-row.ts';
import type { ServerRow } from './server-row.ts';

interface ClassRow extends Record<string, unknown> {
  readonly placement_class: string;
  readonly lanes: readonly WaitingLane[];
  readonly starts_per_second: number;
  readonly queue_age: number | null;
}

interface PoolSetting extends Record<string, unknown> {
  readonly pool: string;
  readonly packing: boolean;
  readonly version: number;
}

/** Every pool that has a server or something that waits for one, with advice for its scaler. */
export async function listPools(tx: Transaction): Promise<PoolView[]> {
  const [servers, heldBy, classes, set] = await Promise.all([
    listServers(tx),
    countHeld(tx),
    tx.query<ClassRow>(
      `SELECT placement_class, lanes, starts_per_second,
         (SELECT extract(epoch FROM now() - created_at)::float8 FROM outbox
          WHERE outbox.placement_class = queue_book.placement_class ORDER BY id LIMIT 1) AS queue_age
       FROM queue_book`,
    ),
    tx.query<PoolSetting>('SELECT pool, packing, version FROM pool_settings'),
  ]);
  const byPool = Map.groupBy(
    servers.filter(({ pool }) => pool !== pinnedPool),
    ({ pool }) => pool,
  );
  const queues = Map.groupBy(
    classes.filter((row) => row.placement_class !== pinnedPool),
    (row) => poolOfClass(row.placement_class),
  );
  const settings = new Map(set.map((setting) => [setting.pool, setting]));
  return [...new Set([...byPool.keys(), ...queues.keys()])]
    .sort((left, right) => (left < right ? -1 : 1))
    .map((pool) =>
      poolView(pool, byPool.get(pool) ?? [], heldBy, queues.get(pool) ?? [], settings.get(pool)),
    );
}

function poolView(
  pool: string,
  servers: readonly ServerRow[],
  held: (row: ServerRow) => number,
  classes: readonly ClassRow[],
  setting: PoolSetting | undefined,
): PoolView {
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
  const waiting = sum(classes.flatMap(({ lanes }) => lanes.map((lane) => lane.waiting)));
  const ages = classes.flatMap(({ queue_age: age }) => (age === null ? [] : [Math.round(age)]));
  return {
    pool,
    servers: servers.filter((row) => usableCapacity(row) > 0).length,
    slots: sum(servers.map(usableCapacity)),
    held: sum(servers.map(held)),
    warm: sum(servers.map((row) => row.status?.warm ?? 0)),
    warmMisses: sum(servers.map((row) => row.status?.coldStarts ?? 0)),
    waiting,
    queueAgeSeconds: ages.length === 0 ? null : Math.max(...ages),
    startsPerSecond: sum(classes.map((row) => row.starts_per_second)),
    packing: setting?.packing ?? false,
    version: setting?.version ?? 0,
    ...adviseScaling(
      servers.map((row) => ({
        id: row.id,
        usable: usableCapacity(row),
        held: held(row),
        drained: row.drained || !row.listed,
      })),
      waiting,
    ),
  };
}

const gauges: readonly (readonly [name: MetricName, of: (pool: PoolView) => number])[] = [
  ['lemniscate_pool_slots', ({ slots }) => slots],
  ['lemniscate_pool_held', ({ held }) => held],
  ['lemniscate_pool_waiting', ({ waiting }) => waiting],
  ['lemniscate_pool_queue_age_seconds', (pool) => pool.queueAgeSeconds ?? 0],
  ['lemniscate_pool_warm_sandboxes', ({ warm }) => warm],
  ['lemniscate_pool_warm_misses', ({ warmMisses }) => warmMisses],
  ['lemniscate_pool_wanted_slots', ({ wantedSlots }) => wantedSlots],
  ['lemniscate_pool_wanted_servers', ({ wantedServers }) => wantedServers],
];

/** The same as a scraper reads it. */
export function poolFamilies(pools: readonly PoolView[]): MetricFamily[] {
  return gauges.map(([name, of]) => ({
    name,
    points: pools.map((pool) => ({ labels: { pool: pool.pool }, value: of(pool) })),
  }));
}
