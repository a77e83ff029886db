import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { interruptibleRuntimes } from '@lemniscate/shared/protocol/session-order.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { withdrawApprovals } from '../approvals/withdraw-approvals.ts';
import type { Person } from '../identity.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import { destroyEnded, endInterrupted, listEnded, listWorking } from '../delegation/end-interrupted.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { EndSessionDeps } from '../sessions/end-session.ts';
import type { Signals } from '../signals.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { lockOpen } from './lock-open.ts';
import type { MessageDeps } from './send-message.ts';

export interface InterruptDeps extends MessageDeps, EndSessionDeps {
  readonly events: EventLog;
  readonly signals: Signals;
  readonly servers: Pick<AgentServers, 'interrupt' | 'destroy'>;
}

/**
 * Cuts short what the agent does at the moment: calls that were asked for end `canceled` with no rejection recorded, and
 * the session waits for its person's next message, from then on whatever it was opened with. One that waits already
 * stays as it is. Sub-agents whose reports it waited for end.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`; `conflict` where nothing runs, nobody sits in front
 * of it, or its runtime cannot be interrupted; `service_unreachable`
 */
export async function interruptTurn(deps: InterruptDeps, person: Person, sessionId: string): Promise<void> {
  const begun = await deps.database.transaction(async (tx) => {
    const locked = await lockOpen(tx, person, sessionId);
    if (locked.reason === 'awaiting_message') return null;
    checkInterruptible(locked);
    await tx.query('UPDATE sessions SET follow_ups = true WHERE id = $1', [sessionId]);
    await deps.audit.append(tx, sessionChain(sessionId), [
      {
        type: 'session.interrupted',
        subject: person.subject,
        attempt: locked.attempt,
        body: { kind: person.kind },
      },
    ]);
    return { session: locked, working: await listWorking(tx, sessionId) };
  });
  if (begun === null) return;
  const { session, working } = begun;
  const { server_id: serverId } = session;
  if (serverId === null) return;
  await deps.servers.interrupt(serverId, { sessionId, attempt: session.attempt });
  // Only now: a server that still asks would take a withdrawn question for an answer.
  await withdrawQuestions(deps, person, session);
  if (working.length === 0) return;
  const ended = await deps.database.transaction(async (tx) => {
    await lockSession(tx, sessionId);
    await endInterrupted(deps, tx, sessionId, working, person.subject);
    return listEnded(tx, working);
  });
  destroyEnded(deps, ended);
}

async function withdrawQuestions(deps: InterruptDeps, person: Person, asked: SessionRow): Promise<void> {
  const any = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, asked.id);
    if (session.attempt !== asked.attempt || sessionHasEnded(session.state)) return false;
    const { events, entries } = await withdrawApprovals(tx, session.id);
    if (events.length === 0) return false;
    await deps.events.append(tx, session.id, session.attempt, events);
    await deps.audit.append(
      tx,
      sessionChain(session.id),
      entries.map((body) => ({
        type: 'approval.decided' as const,
        subject: person.subject,
        attempt: session.attempt,
        body,
      })),
    );
    return true;
  });
  if (any) deps.events.announce(asked.id);
}

function checkInterruptible(session: SessionRow): void {
  const refuse = (why: string): never => {
    throw new CodedError('conflict', `Session ${session.id} ${why} "lemniscate stop" ends it.`, {
      session: session.id,
      state: session.state,
    });
  };
  if (session.state !== 'running') refuse(`is ${session.state}: nothing runs that could be interrupted.`);
  if (!session.interactive) refuse('has nobody in front of it who could say what comes next.');
  if (!interruptibleRuntimes.includes(session.runtime))
    refuse(`runs under ${session.runtime}, whose turn cannot be interrupted.`);
}
