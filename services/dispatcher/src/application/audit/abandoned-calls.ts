import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import { appendAboutSession } from './append-about-session.ts';

/** Why nobody will tell how a call ended. */
export type AbandonedWhy = 'session_ended' | 'attempt_lost' | 'never_told';

interface AbandonedCall extends Record<string, unknown> {
  readonly call_id: string;
  readonly attempt: number;
  readonly tool: string;
}

/**
 * Marks the permitted calls of a session whose attempt is over and whose end is not on record, and makes their entries:
 * what was allowed may have run, and the log must say that it does not know. The caller holds the session's lock.
 */
export async function abandonCalls(
  tx: Transaction,
  session: string,
  self: string,
  why: AbandonedWhy,
): Promise<AuditDraft[]> {
  const rows = await tx.query<AbandonedCall>(
    `UPDATE tool_calls c SET abandoned_at = now() FROM attempts a
     WHERE c.session_id = $1 AND c.ended_at IS NULL AND c.abandoned_at IS NULL AND c.answer ->> 'verdict' = 'go'
       AND (a.session_id, a.attempt) = (c.session_id, c.attempt) AND a.state <> 'live'
     RETURNING c.call_id, c.attempt, c.tool`,
    [session],
  );
  return rows.map(({ call_id: call, attempt, tool }) => ({
    type: 'tool.abandoned',
    subject: self,
    attempt,
    body: { call, tool, why },
  }));
}

export interface CloseAbandonedDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly self: string;
}

/** Sessions of one pass; the next takes the rest. */
const atOnce = 100;

/**
 * The task that closes what was begun and never ended. The end of a session and the loss of an attempt close their
 * calls themselves; this finds what a crash in between, an older version or a hand in the database left open.
 * @returns how many calls were closed
 */
export async function closeAbandoned({ database, audit, self }: CloseAbandonedDeps): Promise<number> {
  const sessions = await database.query<{ session_id: string }>(
    `SELECT DISTINCT c.session_id FROM tool_calls c JOIN attempts a USING (session_id, attempt)
     WHERE c.ended_at IS NULL AND c.abandoned_at IS NULL AND c.answer ->> 'verdict' = 'go' AND a.state <> 'live'
     LIMIT ${atOnce}`,
  );
  let closed = 0;
  for (const { session_id: id } of sessions)
    closed += await database.transaction(async (tx) => {
      const session = await lockSession(tx, id);
      const entries = await abandonCalls(tx, id, self, 'never_told');
      if (entries.length > 0) await appendAboutSession(audit, tx, session, entries);
      return entries.length;
    });
  return closed;
}
