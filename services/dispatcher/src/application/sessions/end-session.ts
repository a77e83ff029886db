import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { abandonCalls } from '../audit/abandoned-calls.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { changeSessionState } from './change-state.ts';
import { extensionColumns, extensionEvent } from '../budgets/extension-row.ts';
import type { ExtensionRow } from '../budgets/extension-row.ts';
import { messageColumns, messageEvent } from '../messages/message-row.ts';
import type { MessageRow } from '../messages/message-row.ts';
import { offerCheckpointDiff } from '../checkpoints/offer-checkpoint-diff.ts';
import { closePause } from '../pausing/pause-spans.ts';
import { failBuild } from '../environments/settle-build.ts';
import { withdrawApprovals } from '../approvals/withdraw-approvals.ts';
import { lockSession } from './session-row.ts';
import type { SessionRow } from './session-row.ts';

export interface EndSessionDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  /** The service's own URI: who acts where no person does. */
  readonly self: string;
}

export interface EndSessionInput {
  readonly sessionId: string;
  readonly reason: EndReason;
  /** For a person: what went wrong and what to do, or the agent's closing words. */
  readonly message: string;
  /** Who ended it; absent: the service itself. */
  readonly subject?: string;
  /** Merged over the timings that the row has. */
  readonly timingsMs?: Readonly<Record<string, number>>;
}

/**
 * The one way in which a session ends. State, attempt, waiting approvals, the closing audit entries and the last event
 * change together or not at all. After the commit the caller announces the session and sends the signal `ended`.
 * @throws CodedError `session_ended` when it has ended already, `session_unknown`, `transition_refused`
 */
export async function endSession(
  deps: EndSessionDeps,
  tx: Transaction,
  input: EndSessionInput,
): Promise<void> {
  const session = await lockSession(tx, input.sessionId);
  if (sessionHasEnded(session.state))
    throw new CodedError('session_ended', `Session ${session.id} has ended as ${session.state} already.`, {
      session: session.id,
      state: session.state,
    });
  const subject = input.subject ?? deps.self;
  const end = sessionEnds[input.reason];
  // Sent together, executed in this order: eleven round trips under the session's lock were the longest part of an end.
  const [, , withdrawn, questions, , , abandoned, children] = await Promise.all([
    tx.query(
      `UPDATE attempts SET state = 'ended', ended_at = now() WHERE session_id = $1 AND state = 'live'`,
      [session.id],
    ),
    session.state === 'pending' ? leaveBacklog(tx, session.id) : undefined,
    withdrawApprovals(tx, session.id),
    withdrawQuestions(tx, session.id),
    closePause(tx, session.id),
    input.timingsMs === undefined ? undefined : addTimings(tx, session.id, input.timingsMs),
    abandonCalls(tx, session.id, deps.self, 'session_ended'),
    lockChildren(tx, session.id),
  ]);
  const told = [...withdrawn.events, ...questions];
  if (told.length > 0) await deps.events.append(tx, session.id, session.attempt, told);
  if (end.diff === 'checkpoint') await offerCheckpointDiff(deps, tx, session);
  if (session.builds_environment !== null) await failBuild(deps, tx, session.id, input);
  const at = session.attempt > 0 ? { attempt: session.attempt } : {};
  const server = session.server_id === null ? {} : { server: session.server_id };
  // a server tells of the end only when the sandbox is gone, and how long that took
  const destroyedMs = input.timingsMs?.['kill'];
  const destroyed: AuditDraft[] =
    destroyedMs === undefined
      ? []
      : [
          {
            type: 'sandbox.destroyed',
            subject,
            ...at,
            ...server,
            body: { durationMs: Math.round(destroyedMs) },
          },
        ];
  await Promise.all([
    changeSessionState(deps.events, tx, session, {
      to: end.state,
      phase: 'ended',
      reason: input.reason,
      message: input.message,
      stamp: 'ended_at',
    }),
    deps.audit.append(tx, sessionChain(session.id), [
      ...abandoned,
      ...destroyed,
      ...withdrawn.entries.map((body) => ({ type: 'approval.decided' as const, subject, body, ...at })),
      {
        type: 'session.ended',
        subject,
        ...at,
        ...server,
        body: { state: end.state, reason: input.reason },
      },
      { type: 'chain.closed', subject: deps.self, body: {} },
    ]),
  ]);
  await endSubAgents(deps, tx, session, children, input.reason, subject);
}

interface ChildRow extends Record<string, unknown> {
  readonly id: string;
  readonly state: SessionRow['state'];
}

function lockChildren(tx: Transaction, parentId: string): Promise<ChildRow[]> {
  return tx.query<ChildRow>('SELECT id, state FROM sessions WHERE parent_id = $1 ORDER BY id FOR UPDATE', [
    parentId,
  ]);
}

async function addTimings(
  tx: Transaction,
  sessionId: string,
  timingsMs: Readonly<Record<string, number>>,
): Promise<void> {
  await tx.query('UPDATE sessions SET timings_ms = timings_ms || $2::jsonb WHERE id = $1', [
    sessionId,
    JSON.stringify(timingsMs),
  ]);
}

/** Whoever works for a session ends with it, whatever the cause: parents are locked before their children. */
async function endSubAgents(
  deps: EndSessionDeps,
  tx: Transaction,
  parent: SessionRow,
  children: readonly ChildRow[],
  cause: EndReason,
  subject: string,
): Promise<void> {
  // what they reported was for this session to read; nobody does any more
  if (children.length > 0)
    await tx.query(
      `UPDATE diffs SET patch = NULL, object_sha256 = NULL WHERE state = 'discarded' AND session_id = ANY ($1)`,
      [children.map(({ id }) => id)],
    );
  for (const child of children) {
    if (sessionHasEnded(child.state)) continue;
    await endSession(deps, tx, {
      sessionId: child.id,
      reason: cause === 'revoked' ? 'revoked' : 'stopped',
      message: `Session ${parent.id}, for which it worked, has ended.`,
      subject,
    });
  }
}

async function leaveBacklog(tx: Transaction, sessionId: string): Promise<void> {
  await tx.query('DELETE FROM outbox WHERE session_id = $1', [sessionId]);
}

/** Nobody is asked any more: neither for an extension nor for a message. @returns the events that tell of it */
async function withdrawQuestions(tx: Transaction, sessionId: string): Promise<DispatcherEvent[]> {
  const [extensions, messages] = await Promise.all([
    tx.query<ExtensionRow>(
      `UPDATE budget_extensions SET state = 'withdrawn', decided_by = 'automation', decided_at = now()
       WHERE session_id = $1 AND state = 'waiting' RETURNING ${extensionColumns}`,
      [sessionId],
    ),
    tx.query<MessageRow>(
      `UPDATE session_messages SET state = 'withdrawn', answered_at = now()
       WHERE session_id = $1 AND state = 'awaited' RETURNING ${messageColumns}`,
      [sessionId],
    ),
  ]);
  return [...extensions.slice(0, 1).map(extensionEvent), ...messages.slice(0, 1).map(messageEvent)];
}
