import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';

interface WithdrawnApproval extends Record<string, unknown> {
  readonly id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly title: string;
  readonly arguments_digest: string;
  readonly reasons: string[];
}

/**
 * Withdraws every question of a session that still waits: nobody has to answer it any more, and nobody has rejected it.
 * @returns the events and the bodies of the `approval.decided` entries that tell of it
 */
export async function withdrawApprovals(
  tx: Transaction,
  sessionId: string,
): Promise<{ events: DispatcherEvent[]; entries: AuditDraft['body'][] }> {
  return toldOf(
    await tx.query<WithdrawnApproval>(
      `${withdraw} WHERE session_id = $1 AND state = 'waiting' ${returning}`,
      [sessionId],
    ),
  );
}

const withdraw = `UPDATE approvals a SET state = 'withdrawn', decided_by = 'automation', decided_at = now()`;
const returning = 'RETURNING id, call_id, tool, title, arguments_digest, reasons';

/**
 * Withdraws what earlier attempts have asked and this one does not, once it is in a later turn than its first: a turn
 * begins when all calls of the one before have been proposed, so whatever it repeats of theirs it has repeated. After the
 * proposal is on record, under the session's lock.
 * @returns whether there was anything
 */
export async function withdrawLeftBehind(
  deps: { readonly audit: AuditLog; readonly events: Pick<EventLog, 'append'>; readonly self: string },
  tx: Transaction,
  { sessionId, attempt }: AttemptClaim,
  { callId, turn }: { readonly callId: string; readonly turn: number },
): Promise<boolean> {
  if (attempt === 1) return false;
  const { events, entries } = toldOf(
    await tx.query<WithdrawnApproval>(
      `${withdraw} WHERE a.session_id = $1 AND a.state = 'waiting' AND a.call_id <> $3
         AND NOT EXISTS (SELECT FROM tool_calls c WHERE (c.session_id, c.attempt, c.call_id) = ($1, $2, a.call_id))
         AND EXISTS (SELECT FROM tool_calls c WHERE c.session_id = $1 AND c.attempt = $2 AND c.turn < $4)
       ${returning}`,
      [sessionId, attempt, callId, turn],
    ),
  );
  if (events.length === 0) return false;
  await Promise.all([
    deps.events.append(tx, sessionId, attempt, events),
    deps.audit.append(
      tx,
      sessionChain(sessionId),
      entries.map((body) => ({ type: 'approval.decided' as const, subject: deps.self, attempt, body })),
    ),
  ]);
  return true;
}

function toldOf(rows: readonly WithdrawnApproval[]): {
  events: DispatcherEvent[];
  entries: AuditDraft['body'][];
} {
  return {
    events: rows.map((row) => ({
      type: 'approval',
      approvalId: row.id,
      callId: row.call_id,
      state: 'withdrawn',
      tool: row.tool,
      title: row.title,
      argumentsDigest: row.arguments_digest,
      reasons: row.reasons,
    })),
    entries: rows.map((row) => ({
      approval: row.id,
      call: row.call_id,
      decision: 'withdrawn',
      decidedBy: 'automation',
    })),
  };
}
