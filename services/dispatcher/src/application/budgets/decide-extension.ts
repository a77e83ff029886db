import type { DecideExtension } from '@lemniscate/shared/api/extension.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { fleetNow } from '../recovery/fleet-clock.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { extensionColumns, extensionEvent, findWaitingExtension } from './extension-row.ts';
import type { ExtensionRow } from './extension-row.ts';
import { readWaitedMs } from './read-waited.ts';

export interface ExtensionDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
}

interface Answer {
  readonly state: 'granted' | 'declined' | 'expired';
  readonly decidedBy: 'human' | 'automation';
  readonly subject: string;
}

/**
 * A person's answer to a session that has used up its budget: go on with the next extension, or come to an end. What
 * waits for it, a tool call or a model exchange, goes on by itself. A second answer to one question never answers the next.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`, `conflict` when nothing is asked, `version_conflict`
 *   when another question than the one that was seen is
 */
export async function decideExtension(
  deps: ExtensionDeps,
  person: Person,
  sessionId: string,
  { decision, number }: DecideExtension,
): Promise<ExtensionRow> {
  const decided = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    requireDecider(person, 'extension', session);
    if (sessionHasEnded(session.state))
      throw new CodedError('session_ended', `Session ${sessionId} has ended; it cannot be extended.`, {
        session: sessionId,
        state: session.state,
      });
    const waiting = await findWaitingExtension(tx, sessionId);
    if (waiting === null)
      throw new CodedError('conflict', `Session ${sessionId} does not ask for an extension.`, {
        session: sessionId,
      });
    if (waiting.number !== number)
      throw new CodedError(
        'version_conflict',
        `Session ${sessionId} asks its question ${waiting.number} by now, not ${number}. Look at it and answer that.`,
        { session: sessionId, number: waiting.number },
      );
    return settleExtension(deps, tx, session, waiting, {
      state: decision === 'extend' ? 'granted' : 'declined',
      decidedBy: 'human',
      subject: person.subject,
    });
  });
  deps.events.announce(sessionId);
  return decided;
}

/** How many are taken at once; the next run takes the rest. */
const atOnce = 200;

/**
 * Lets questions expire that nobody answered: the session then ends by its budget, by automation.
 * @returns how many expired
 */
export async function expireExtensions(deps: ExtensionDeps): Promise<number> {
  const overdue = await deps.database.query<{ session_id: string }>(
    `SELECT session_id FROM budget_extensions WHERE state = 'waiting' AND expires_at <= ${fleetNow}
     ORDER BY expires_at LIMIT ${atOnce}`,
  );
  let expired = 0;
  for (const { session_id: sessionId } of overdue) {
    const done = await deps.database.transaction(async (tx) => {
      const session = await lockSession(tx, sessionId);
      const waiting = await findWaitingExtension(tx, sessionId);
      if (waiting === null || sessionHasEnded(session.state)) return false;
      await settleExtension(deps, tx, session, waiting, {
        state: 'expired',
        decidedBy: 'automation',
        subject: deps.self,
      });
      return true;
    });
    if (done) deps.events.announce(sessionId);
    expired += done ? 1 : 0;
  }
  return expired;
}

/** Settles the question that waits, under the session's lock: one answer, one entry, one event. */
export async function settleExtension(
  deps: Pick<ExtensionDeps, 'audit'> & { readonly events: Pick<EventLog, 'append'> },
  tx: Transaction,
  session: SessionRow,
  waiting: ExtensionRow,
  answer: Answer,
): Promise<ExtensionRow> {
  const [row] = await tx.query<ExtensionRow>(
    `UPDATE budget_extensions SET state = $3, decided_by = $4, subject = $5, decided_at = now()
     WHERE session_id = $1 AND number = $2 AND state = 'waiting' RETURNING ${extensionColumns}`,
    [session.id, waiting.number, answer.state, answer.decidedBy, answer.subject],
  );
  if (row === undefined) throw new Error('a question under the lock of its session waits');
  const granted = answer.state === 'granted';
  const waited = await readWaitedMs(tx, session.id);
  await Promise.all([
    tx.query(
      `UPDATE sessions SET extensions_used = extensions_used + $2, stop_reason = coalesce(stop_reason, $3),
         waited_ms = $4, reason = NULL, phase = CASE phase WHEN 'waiting' THEN 'working' ELSE phase END
       WHERE id = $1`,
      [session.id, granted ? 1 : 0, granted ? null : row.cause, waited],
    ),
    deps.events.append(tx, session.id, session.attempt, [extensionEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: granted ? 'budget.extended' : 'budget.declined',
        subject: answer.subject,
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
        body: { number: row.number, decidedBy: answer.decidedBy, state: answer.state, ...row.grants },
      },
    ]),
  ]);
  return row;
}
