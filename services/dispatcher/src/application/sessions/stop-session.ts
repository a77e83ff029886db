import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { Person } from '../identity.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { endSession } from './end-session.ts';
import type { EndSessionDeps } from './end-session.ts';
import { lockSession } from './session-row.ts';

export interface StopSessionDeps extends EndSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly servers: AgentServers;
}

/**
 * Stops a session in any state that is not an end; stopping an ended one changes nothing. The session ends at once and
 * for good. Its server is told directly; if that call is lost, the answer to its next heartbeat or batch says it again,
 * since the attempt is no longer live.
 */
export async function stopSession(deps: StopSessionDeps, person: Person, sessionId: string): Promise<void> {
  const stopped = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    if (sessionHasEnded(session.state)) return null;
    await tx.query(`UPDATE sessions SET stop_reason = 'stopped' WHERE id = $1`, [sessionId]);
    await deps.audit.append(tx, sessionChain(sessionId), [
      {
        type: 'session.stopped',
        subject: person.subject,
        body: { state: session.state, kind: person.kind },
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
      },
    ]);
    await endSession(deps, tx, {
      sessionId,
      reason: 'stopped',
      message: `Stopped by ${person.name}. Its work was discarded.`,
      subject: person.subject,
    });
    return session;
  });
  if (stopped === null) return;
  deps.events.announce(sessionId);
  deps.signals.send('ended', sessionId);
  if (stopped.server_id === null || stopped.attempt === 0) return;
  deps.servers.destroy(stopped.server_id, { sessionId, attempt: stopped.attempt });
}
