import type { QueueReport } from '@lemniscate/shared/api/fleet-health.ts';
import type { Transaction } from '../ports/transaction.ts';

/** What waits for a server at this moment, the longest wait first. Workstations' sessions wait for nobody else. */
export async function reportQueue(tx: Transaction, seen: readonly string[] | null): Promise<QueueReport> {
  const projects = await tx.query<QueueReport['projects'][number]>(
    `SELECT project_id AS project, count(*) FILTER (WHERE state = 'pending')::int AS waiting,
       count(*) FILTER (WHERE state IN ('starting', 'running'))::int AS running,
       extract(epoch FROM now() - min(queued_at) FILTER (WHERE state = 'pending'))::float8 AS "oldestSeconds"
     FROM sessions WHERE state IN ('pending', 'starting', 'running') AND pinned_server IS NULL
       AND ($1::text[] IS NULL OR project_id = ANY($1))
     GROUP BY 1 ORDER BY 4 DESC NULLS LAST, 3 DESC, 1 LIMIT 500`,
    [seen],
  );
  const ages = projects.flatMap(({ oldestSeconds }) => (oldestSeconds === null ? [] : [oldestSeconds]));
  return {
    waiting: projects.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestSeconds: ages.length === 0 ? null : Math.max(...ages),
    projects: [...projects],
  };
}
