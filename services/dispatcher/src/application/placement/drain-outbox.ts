import type { PlacementQueue } from '../ports/placement-queue.ts';
import type { Database } from '../ports/transaction.ts';
import { queuePool } from '../servers/configured-server.ts';

export interface DrainDeps {
  readonly database: Database;
  readonly queue: PlacementQueue;
}

interface OutboxRow extends Record<string, unknown> {
  readonly id: number;
  readonly session_id: string;
  readonly generation: number;
  readonly pinned_server: string | null;
}

const perBatch = 200;

/**
 * Step 2 of a session: what a transaction has promised to the queue is handed over. A row is deleted only after the
 * queue has it; a crash in between repeats the hand-over, which the job's id makes harmless. Dispatchers that drain at
 * the same time take different rows.
 */
export async function drainOutbox(deps: DrainDeps): Promise<void> {
  for (;;) {
    const taken = await deps.database.transaction(async (tx) => {
      const rows = await tx.query<OutboxRow>(
        `SELECT outbox.id, session_id, outbox.generation, sessions.pinned_server
         FROM outbox JOIN sessions ON sessions.id = outbox.session_id
         ORDER BY outbox.id LIMIT ${perBatch} FOR UPDATE OF outbox SKIP LOCKED`,
      );
      if (rows.length === 0) return 0;
      for (const [pool, group] of Map.groupBy(rows, (row) => queuePool(row.pinned_server)))
        await deps.queue.add(
          pool,
          group.map((row) => ({ sessionId: row.session_id, generation: row.generation })),
        );
      await tx.query('DELETE FROM outbox WHERE id = ANY($1)', [rows.map((row) => row.id)]);
      return rows.length;
    });
    if (taken < perBatch) return;
  }
}
