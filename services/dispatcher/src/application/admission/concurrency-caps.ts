import type { Turn, WaitingPool } from '@lemniscate/shared/queue/fair-turns.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Counts what a project has admitted, starting and running, as far as its cap. */
export const occupying = (project: string, cap: string): string =>
  `SELECT count(*) FROM (
     SELECT FROM sessions WHERE project_id = (${project})
       AND (state IN ('starting', 'running') OR (state = 'pending' AND phase = 'admitted'))
     LIMIT ${cap}
   ) occupying`;

/**
 * Whether the projects whose turn it is still have the room that was seen. A project whose pool was changed waits for two
 * of them, and an admission of the other one may be counting too: from here on, until the transaction ends, it waits. Locks
 * are got in the order of names, and the statement that counts begins after them.
 */
export async function holdCaps(tx: Transaction, pool: WaitingPool, turns: readonly Turn[]): Promise<boolean> {
  const capped = new Set(
    pool.classes.flatMap(({ lanes }) => lanes.filter(({ room }) => room !== null).map(({ name }) => name)),
  );
  const wanted = Map.groupBy(
    turns.filter(({ lane }) => capped.has(lane)),
    ({ lane }) => lane,
  );
  if (wanted.size === 0) return true;
  const names = [...wanted.keys()].toSorted();
  const [, rooms] = await Promise.all([
    // A row each, in the order of the array.
    tx.query(
      `SELECT pg_advisory_xact_lock(hashtextextended('cap:' || name, 0)) FROM unnest($1::text[]) AS name`,
      [names],
    ),
    tx.query<{ id: string; room: number }>(
      `SELECT id, (max_concurrent - (${occupying('projects.id', 'max_concurrent')}))::int AS room
       FROM projects WHERE id = ANY($1) AND max_concurrent IS NOT NULL`,
      [names],
    ),
  ]);
  return rooms.every(({ id, room }) => room >= (wanted.get(id)?.length ?? 0));
}
