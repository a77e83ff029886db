import { waitedMs } from '@lemniscate/shared/budget/waited-time.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Until when an approval `a` was waited for: its decision, or the end of the last attempt that asked for its call. What a
 * lost attempt has asked stops no clock of the next one, which works, until that asks for it too.
 */
const askedUntil = `least(a.decided_at, (SELECT t.ended_at FROM attempts t
  JOIN tool_calls k ON (k.session_id, k.attempt, k.call_id) = (a.session_id, t.attempt, a.call_id)
  WHERE t.session_id = a.session_id AND (a.decided_at IS NULL OR k.proposed_at <= a.decided_at) ORDER BY t.attempt DESC LIMIT 1))`;

/**
 * Milliseconds that a session has waited for people up to now, waits that go on included: counted anew from its
 * approvals, questions and pauses, so that nothing drifts. A sub-agent is no person: its time is its parent's too; but
 * while it waits for one, so does its parent. Nor does it work while nobody watches over the fleet. What was waited before the budget began anew does not count twice. Sent
 * before the first await.
 */
export async function readWaitedMs(tx: Transaction, sessionId: string): Promise<number> {
  const waits = await tx.query<{ from: string; to: string | null; now: string }>(
    `SELECT greatest(w.since, s.running_at, s.budget_from) AS "from", w.until AS "to", clock_timestamp() AS now
     FROM sessions s JOIN LATERAL (
       SELECT a.created_at AS since, ${askedUntil} AS until FROM approvals a WHERE a.session_id = s.id
       UNION ALL
       SELECT asked_at, decided_at FROM budget_extensions WHERE session_id = s.id
       UNION ALL
       SELECT asked_at, answered_at FROM session_messages WHERE session_id = s.id AND asked_at IS NOT NULL
       UNION ALL
       SELECT since, until FROM session_pauses WHERE session_id = s.id AND reason <> 'awaiting_sub_agent'
       UNION ALL
       SELECT a.created_at, ${askedUntil} FROM sessions c JOIN approvals a ON a.session_id = c.id
       WHERE c.parent_id IS NOT NULL AND c.ancestors @> ARRAY[s.id]
       UNION ALL
       SELECT p.since, p.until FROM sessions c JOIN session_pauses p ON p.session_id = c.id
       WHERE c.parent_id IS NOT NULL AND c.ancestors @> ARRAY[s.id] AND p.reason <> 'awaiting_sub_agent'
       UNION ALL
       SELECT since, until FROM fleet_unwatched
     ) w ON w.until IS NULL OR coalesce(s.budget_from, s.running_at) IS NULL OR w.until > coalesce(s.budget_from, s.running_at)
     WHERE s.id = $1`,
    [sessionId],
  );
  return waitedMs(waits, waits[0]?.now ?? new Date(0).toISOString());
}
