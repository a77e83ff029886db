import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { messageRestartsBudget } from '@lemniscate/shared/identity/who-decides.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { surfaceRules } from '@lemniscate/shared/session/surface.ts';
import { settleExtension } from '../budgets/decide-extension.ts';
import { findWaitingExtension } from '../budgets/extension-row.ts';
import { restartBudget } from '../budgets/restart-budget.ts';
import { harmlessText } from '../events/harmless.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { fleetNow } from '../recovery/fleet-clock.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { lockOpen } from './lock-open.ts';
import { findAwaited, messageColumns, messageEvent } from './message-row.ts';
import type { MessageRow } from './message-row.ts';

export interface MessageDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
}

/** Messages that may be ahead of a session that still works on an earlier one. */
const maxAhead = 20;

/**
 * Says something to a session: the message that it waits for, or the next one that it will find when it has answered.
 * On the terminal each message of a person restarts the budget; in an IDE it grants the extension that is asked for.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`, `conflict` for a session that takes none
 */
export async function sendMessage(
  deps: MessageDeps,
  person: Person,
  sessionId: string,
  text: string,
): Promise<MessageRow> {
  const sent = await deps.database.transaction(async (tx) => {
    const session = await lockOpen(tx, person, sessionId);
    const rules = surfaceRules[session.surface];
    const extension = await findWaitingExtension(tx, sessionId);
    const extends_ = extension !== null && (rules.messageExtends || rules.messageRestartsBudget);
    if (!session.follow_ups && !extends_)
      throw new CodedError(
        'conflict',
        `Session ${sessionId} takes no further messages; it was opened without followUps.`,
        { session: sessionId },
      );
    if (extends_) {
      requireDecider(person, 'extension', session);
      await settleExtension(deps, tx, session, extension, {
        state: 'granted',
        decidedBy: 'human',
        subject: person.subject,
      });
    }
    const row = await writeMessage(tx, session, person, harmlessText(text));
    if (messageRestartsBudget(session.surface, person.kind)) await restartBudget(tx, sessionId);
    await recordMessage(deps, tx, session, person, row);
    return row;
  });
  deps.events.announce(sessionId);
  return sent;
}

/**
 * Finishes a session that waits for a message, or will: it completes with its diff instead of staying.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`, `conflict`
 */
export async function finishConversation(
  deps: MessageDeps,
  person: Person,
  sessionId: string,
): Promise<MessageRow> {
  const ended = await deps.database.transaction(async (tx) => {
    const session = await lockOpen(tx, person, sessionId);
    if (!session.follow_ups)
      throw new CodedError('conflict', `Session ${sessionId} ends by itself when it has answered.`, {
        session: sessionId,
      });
    return endConversation(deps, tx, session, 'ended', person.subject);
  });
  deps.events.announce(sessionId);
  return ended;
}

/** How many are taken at once; the next run takes the rest. */
const atOnce = 200;

/**
 * Finishes sessions whose person has stayed away.
 * @returns how many
 */
export async function finishIdle(deps: MessageDeps): Promise<number> {
  const overdue = await deps.database.query<{ session_id: string }>(
    `SELECT session_id FROM session_messages WHERE state = 'awaited' AND expires_at <= ${fleetNow}
     ORDER BY expires_at LIMIT ${atOnce}`,
  );
  let finished = 0;
  for (const { session_id: sessionId } of overdue) {
    const done = await deps.database.transaction(async (tx) => {
      const session = await lockSession(tx, sessionId);
      if (sessionHasEnded(session.state) || (await findAwaited(tx, sessionId)) === null) return false;
      await endConversation(deps, tx, session, 'idled', deps.self);
      return true;
    });
    if (done) deps.events.announce(sessionId);
    finished += done ? 1 : 0;
  }
  return finished;
}

async function writeMessage(
  tx: Transaction,
  session: SessionRow,
  person: Person,
  text: string,
): Promise<MessageRow> {
  const [awaited] = await tx.query<MessageRow>(
    `UPDATE session_messages SET state = 'sent', text = $2, subject = $3, answered_at = now()
     WHERE session_id = $1 AND state = 'awaited' RETURNING ${messageColumns}`,
    [session.id, text, person.subject],
  );
  if (awaited !== undefined) {
    await resume(tx, session.id);
    return awaited;
  }
  const [ahead] = await tx.query<{ ended: boolean; unheard: number; total: number }>(
    `SELECT coalesce(bool_or(state IN ('ended', 'idled')), false) AS ended,
       count(*) FILTER (WHERE asked_at IS NULL)::int AS unheard, count(*)::int AS total
     FROM session_messages WHERE session_id = $1`,
    [session.id],
  );
  if (ahead?.ended === true || (ahead?.unheard ?? 0) >= maxAhead)
    throw new CodedError(
      'conflict',
      ahead?.ended === true
        ? `Session ${session.id} is being finished; it takes no more messages.`
        : `${maxAhead} messages are ahead of session ${session.id}; wait for its answer.`,
      { session: session.id },
    );
  const [row] = await tx.query<MessageRow>(
    `INSERT INTO session_messages (session_id, number, state, text, subject, answered_at)
     VALUES ($1, $2, 'sent', $3, $4, now()) RETURNING ${messageColumns}`,
    [session.id, (ahead?.total ?? 0) + 1, text, person.subject],
  );
  if (row === undefined) throw new Error('an insert always has its row');
  return row;
}

async function endConversation(
  deps: MessageDeps,
  tx: Transaction,
  session: SessionRow,
  state: 'ended' | 'idled',
  subject: string,
): Promise<MessageRow> {
  const [awaited] = await tx.query<MessageRow>(
    `UPDATE session_messages SET state = $2, subject = $3, answered_at = now()
     WHERE session_id = $1 AND state = 'awaited' RETURNING ${messageColumns}`,
    [session.id, state, subject],
  );
  const [row] =
    awaited === undefined
      ? await tx.query<MessageRow>(
          `INSERT INTO session_messages (session_id, number, state, subject, answered_at)
           SELECT $1, count(*) + 1, $2, $3, now() FROM session_messages WHERE session_id = $1
           RETURNING ${messageColumns}`,
          [session.id, state, subject],
        )
      : [awaited];
  if (row === undefined) throw new Error('an insert always has its row');
  await resume(tx, session.id);
  await deps.events.append(tx, session.id, session.attempt, [messageEvent(row)]);
  return row;
}

async function resume(tx: Transaction, sessionId: string): Promise<void> {
  await tx.query(
    `UPDATE sessions SET reason = NULL, phase = CASE phase WHEN 'waiting' THEN 'working' ELSE phase END
     WHERE id = $1 AND reason = 'awaiting_message'`,
    [sessionId],
  );
}

async function recordMessage(
  deps: MessageDeps,
  tx: Transaction,
  session: SessionRow,
  person: Person,
  row: MessageRow,
): Promise<void> {
  await Promise.all([
    deps.events.append(tx, session.id, session.attempt, [messageEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'session.messaged',
        subject: person.subject,
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
        body: {
          number: row.number,
          kind: person.kind,
          instructionCommitment: deps.audit.commit('instruction', row.text ?? ''),
          budgetRestarted: messageRestartsBudget(session.surface, person.kind),
        },
      },
    ]),
  ]);
}
