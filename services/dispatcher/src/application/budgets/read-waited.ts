import type { Transaction } from '../ports/transaction.ts';
import { waitedMs } from './waited-time.ts';

/**
 * Milliseconds that a session has waited for people up to now, waits that go on included: counted anew from its
 * approvals, so that nothing drifts. Sent before the first await.
 */
export async function readWaitedMs(tx: Transaction, sessionId: string): Promise<number> {
  const waits = await tx.query<{ from: string; to: string | null; now: string }>(
    `SELECT created_at AS "from", decided_at AS "to", clock_timestamp() AS now FROM approvals WHERE session_id = $1`,
    [sessionId],
  );
  return waitedMs(waits, waits[0]?.now ?? new Date(0).toISOString());
}
