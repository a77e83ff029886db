import { pausableRuntimes } from '@lemniscate/shared/protocol/session-order.ts';
import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { listPools, poolFamilies } from '../servers/list-pools.ts';
import type { Transaction } from '../ports/transaction.ts';
import { costMetrics } from './cost-metrics.ts';

const live = ['pending', 'starting', 'running', 'paused'] as const;

/** How the fleet is at this moment, out of the record alone. */
export async function fleetMetrics(tx: Transaction): Promise<MetricFamily[]> {
  const [pools, states, ages, [approvals], costs] = await Promise.all([
    listPools(tx),
    tx.query<{ state: string; count: number }>(
      `SELECT state, count(*)::int AS count FROM sessions WHERE state IN ('pending', 'starting', 'running', 'paused')
       GROUP BY 1`,
    ),
    tx.query<{ placement_class: string; age: number }>(
      `SELECT placement_class, max(extract(epoch FROM now() - greatest(running_at, (SELECT max(created_at)
         FROM checkpoints WHERE checkpoints.session_id = sessions.id))))::float8 AS age
       FROM sessions WHERE state = 'running' AND runtime = ANY($1) AND running_at IS NOT NULL GROUP BY 1`,
      [[...pausableRuntimes]],
    ),
    tx.query<{ waiting: number; oldest: number }>(
      `SELECT count(*)::int AS waiting, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest
       FROM approvals WHERE state = 'waiting'`,
    ),
    costMetrics(tx),
  ]);
  const counts = new Map(states.map(({ state, count }) => [state, count]));
  const oldest = new Map(pools.map(({ pool }) => [pool, 0]));
  for (const { placement_class: of, age } of ages)
    oldest.set(poolOfClass(of), Math.max(oldest.get(poolOfClass(of)) ?? 0, age));
  return [
    ...poolFamilies(pools),
    {
      name: 'lemniscate_pool_checkpoint_age_seconds',
      points: [...oldest].map(([pool, value]) => ({ labels: { pool }, value })),
    },
    {
      name: 'lemniscate_sessions',
      points: live.map((state) => ({ labels: { state }, value: counts.get(state) ?? 0 })),
    },
    { name: 'lemniscate_approvals_waiting', points: [{ labels: {}, value: approvals?.waiting ?? 0 }] },
    { name: 'lemniscate_approvals_oldest_seconds', points: [{ labels: {}, value: approvals?.oldest ?? 0 }] },
    ...costs,
  ];
}
