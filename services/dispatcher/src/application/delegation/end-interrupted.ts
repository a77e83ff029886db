import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { endSession } from '../sessions/end-session.ts';
import type { EndSessionDeps } from '../sessions/end-session.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import { rollUp } from './roll-up.ts';

/** The sub-agents that work for a session at this moment. Under its lock. */
export async function listWorking(tx: Transaction, parentId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM sessions WHERE parent_id = $1 AND state IN ('pending', 'starting', 'running', 'paused') ORDER BY id`,
    [parentId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Ends sub-agents whose calls were interrupted: nobody reads their reports any more. What they used counts for their
 * parent. Under the parent's lock.
 */
export async function endInterrupted(
  deps: EndSessionDeps,
  tx: Transaction,
  parentId: string,
  children: readonly string[],
  subject: string,
): Promise<void> {
  for (const sessionId of children) {
    const child = await lockSession(tx, sessionId);
    if (!sessionHasEnded(child.state)) {
      const message = `Session ${parentId}, for which it worked, was interrupted.`;
      await endSession(deps, tx, { sessionId, reason: 'stopped', message, subject });
    }
    await rollUp(tx, parentId, sessionId);
  }
}

/** A session that has ended, and where its last attempt was. */
export interface EndedSession extends Record<string, unknown> {
  readonly id: string;
  readonly attempt: number;
  readonly server_id: string | null;
}

/** Those sub-agents and whoever worked below them. */
export function listEnded(tx: Transaction, children: readonly string[]): Promise<EndedSession[]> {
  return tx.query<EndedSession>(
    `SELECT id, attempt, server_id FROM sessions
     WHERE id = ANY ($1) OR (parent_id IS NOT NULL AND ancestors && $1)`,
    [children],
  );
}

/** After the commit: their servers are told directly. If a call is lost, the answer to the next heartbeat says it again. */
export function destroyEnded(
  deps: {
    readonly events: Pick<EventLog, 'announce'>;
    readonly signals: Signals;
    readonly servers: Pick<AgentServers, 'destroy'>;
  },
  ended: readonly EndedSession[],
): void {
  for (const { id, attempt, server_id: serverId } of ended) {
    deps.events.announce(id);
    deps.signals.send('ended', id);
    if (serverId !== null && attempt > 0) deps.servers.destroy(serverId, { sessionId: id, attempt });
  }
}
