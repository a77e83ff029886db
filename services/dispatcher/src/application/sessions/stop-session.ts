import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { Person } from '../identity.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { destroyEnded } from '../delegation/end-interrupted.ts';
import type { EndedSession } from '../delegation/end-interrupted.ts';
import { endSession } from './end-session.ts';
import type { EndSessionDeps } from './end-session.ts';
import { lockSession } from './session-row.ts';

export interface StopSessionDeps extends EndSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly servers: AgentServers;
}

/** What a person's word makes of a session: the end's reason, the entry that says who said it, and the words for it. */
export interface PersonalEnd {
  readonly reason: 'stopped' | 'revoked';
  readonly entry: Pick<AuditDraft, 'type' | 'body'>;
  readonly message: string;
}

/** Stops a session for whoever sits in front of it. */
export async function stopSession(deps: StopSessionDeps, person: Person, sessionId: string): Promise<void> {
  await endByPerson(deps, person.subject, sessionId, {
    reason: 'stopped',
    entry: { type: 'session.stopped', body: { kind: person.kind } },
    message: `Stopped by ${person.name}. Its work was discarded.`,
  });
}

/**
 * Ends a session at once and for good, in any state that is not an end; an ended one stays as it is. Its tokens are
 * dead with the commit. Its server is told directly; if that call is lost, the answer to its next heartbeat or batch
 * says it again, since the attempt is no longer live, and a server that hears nothing destroys it when its lease ends.
 * @returns whether this call ended it
 */
export async function endByPerson(
  deps: StopSessionDeps,
  subject: string,
  sessionId: string,
  end: PersonalEnd,
): Promise<boolean> {
  const ended = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    if (sessionHasEnded(session.state)) return null;
    await tx.query('UPDATE sessions SET stop_reason = $2 WHERE id = $1', [sessionId, end.reason]);
    await deps.audit.append(tx, sessionChain(sessionId), [
      {
        type: end.entry.type,
        subject,
        body: { ...end.entry.body, state: session.state },
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
      },
    ]);
    await endSession(deps, tx, { sessionId, reason: end.reason, message: end.message, subject });
    return session;
  });
  if (ended === null) return false;
  deps.events.announce(sessionId);
  deps.signals.send('ended', sessionId);
  if (ended.server_id !== null && ended.attempt > 0)
    deps.servers.destroy(ended.server_id, { sessionId, attempt: ended.attempt });
  await destroyBelow(deps, sessionId);
  return true;
}

/** The sub-agents have ended with it; their servers are told as directly. */
async function destroyBelow(deps: StopSessionDeps, sessionId: string): Promise<void> {
  const below = await deps.database.query<EndedSession>(
    'SELECT id, attempt, server_id FROM sessions WHERE parent_id IS NOT NULL AND ancestors @> ARRAY[$1]',
    [sessionId],
  );
  destroyEnded(deps, below);
}
