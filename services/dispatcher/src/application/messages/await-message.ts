import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { NextMessageAnswer, NextMessageRequest } from '@lemniscate/shared/protocol/next-message.ts';
import { lockLiveAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import { holdUntil } from '../events/hold-until.ts';
import type { HoldUntilDeps } from '../events/hold-until.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { messageColumns, messageEvent } from './message-row.ts';
import type { MessageRow } from './message-row.ts';

export interface AwaitMessageDeps extends HoldUntilDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
}

/** A session that has answered waits so long for its person; then it is finished. Seconds. */
const idleSeconds = 15 * 60;

/**
 * Gives a session that has answered its person's next message, or says that there will be none. The first question
 * makes the session wait in the record; repeats, also of a later attempt, find the same message.
 * @param gone aborts when the caller has hung up
 * @throws CodedError `attempt_stale`
 */
export async function awaitMessage(
  deps: AwaitMessageDeps,
  claim: AttemptClaim,
  request: NextMessageRequest,
  gone: AbortSignal,
): Promise<NextMessageAnswer> {
  const answer = await holdUntil(deps, claim.sessionId, { ms: request.waitMs, gone }, async () => {
    const { found, asked } = await deps.database.transaction((tx) => look(deps, tx, claim, request.after));
    if (asked) deps.events.announce(claim.sessionId);
    return found;
  });
  return answer ?? { kind: 'waiting' };
}

async function look(
  deps: AwaitMessageDeps,
  tx: Transaction,
  claim: AttemptClaim,
  after: number,
): Promise<{ found: NextMessageAnswer | null; asked: boolean }> {
  const [session, [row]] = await Promise.all([
    lockLiveAttempt(tx, claim),
    tx.query<MessageRow>(
      `SELECT ${messageColumns} FROM session_messages WHERE session_id = $1 AND number = $2`,
      [claim.sessionId, after + 1],
    ),
  ]);
  const found = (answer: NextMessageAnswer | null) => ({ found: answer, asked: false });
  if (session.stop_reason !== null) return found({ kind: 'end', reason: session.stop_reason });
  if (row === undefined) {
    await ask(deps, tx, session, after + 1);
    return { found: null, asked: true };
  }
  if (row.state === 'awaited') return found(null);
  if (row.state === 'sent') return found({ kind: 'message', number: row.number, text: row.text ?? '' });
  return found({ kind: 'end', reason: 'finished' });
}

async function ask(
  deps: AwaitMessageDeps,
  tx: Transaction,
  session: LiveAttempt,
  number: number,
): Promise<void> {
  const row: MessageRow = { session_id: session.id, number, state: 'awaited', text: null };
  await Promise.all([
    tx.query(
      `INSERT INTO session_messages (session_id, number, state, asked_at, expires_at)
       VALUES ($1, $2, 'awaited', now(), now() + make_interval(secs => $3))`,
      [session.id, number, idleSeconds],
    ),
    tx.query(
      `UPDATE sessions SET phase = CASE state WHEN 'running' THEN 'waiting' ELSE phase END,
         reason = 'awaiting_message' WHERE id = $1`,
      [session.id],
    ),
    deps.events.append(tx, session.id, session.attempt, [messageEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'session.paused',
        subject: deps.self,
        attempt: session.attempt,
        body: { reason: 'awaiting_message', number },
      },
    ]),
  ]);
}
