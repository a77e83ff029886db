import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { abandonCalls } from '../audit/abandoned-calls.ts';
import { lastCheckpoint } from '../checkpoints/checkpoint-row.ts';
import { openPause } from '../pausing/pause-spans.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { useUpApprovals } from '../permits/use-up-approvals.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import { endSession } from '../sessions/end-session.ts';
import type { EndSessionDeps } from '../sessions/end-session.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { noteStartFailure } from '../servers/judge-server.ts';
import type { Signals } from '../signals.ts';

export interface LoseAttemptDeps extends EndSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly servers: AgentServers;
  readonly maxLosses: number;
  readonly log: Log;
}

/** Why an attempt is given up, and how the session ends when that has happened too often. */
export interface Loss extends Held {
  readonly serverId: string;
  readonly why: 'lease_expired' | 'server_restarted' | 'start_deadline' | 'given_back' | 'drained' | 'closed';
  /** What the server said that gave it back. */
  readonly told?: string;
}

const endsAs = {
  lease_expired: 'server_lost',
  server_restarted: 'server_lost',
  start_deadline: 'start_failed',
  given_back: 'server_lost',
  drained: 'server_lost',
  closed: 'server_lost',
} as const satisfies Readonly<Record<Loss['why'], EndReason>>;

const sentences = {
  lease_expired: 'its lease expired',
  server_restarted: 'the server was started anew',
  start_deadline: 'it did not report running in time',
  given_back: 'it could not go on from its checkpoint',
  drained: 'its server was drained',
  closed: 'it was closed while its session went on',
} as const satisfies Readonly<Record<Loss['why'], string>>;

/**
 * Gives up an attempt and lets the session begin again elsewhere, or ends it when it was lost too often. The attempt's
 * number is fenced off from then on; the server is told to destroy what it may still hold. Repeating it does nothing.
 */
export async function loseAttempt(deps: LoseAttemptDeps, loss: Loss): Promise<void> {
  const outcome = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, loss.sessionId);
    const lost = loss.why === 'closed' ? await isClosed(tx, loss) : await close(tx, loss);
    if (!lost || session.attempt !== loss.attempt || !hasAttempt.includes(session.state)) return null;
    await deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'attempt.lost',
        subject: deps.self,
        attempt: loss.attempt,
        server: loss.serverId,
        body: { why: loss.why },
      },
      ...(await abandonCalls(tx, session.id, deps.self, 'attempt_lost')),
    ]);
    await useUpApprovals(tx, session, loss.attempt);
    if (loss.why === 'start_deadline') await noteStartFailure(tx, { ...loss, how: sentences[loss.why] });
    // An operator's act is no fault: it may happen to a session as often as it likes.
    const losses = session.losses + (loss.why === 'drained' ? 0 : 1);
    if (losses > deps.maxLosses) {
      await giveUp(deps, tx, session, loss);
      return 'ended';
    }
    await queueAgain(deps, tx, session, loss, losses);
    return 'queued';
  });
  if (outcome === null) return;
  deps.log.warn(
    { session: loss.sessionId, attempt: loss.attempt, server: loss.serverId, why: loss.why, outcome },
    'an attempt was lost',
  );
  deps.events.announce(loss.sessionId);
  if (outcome === 'ended') deps.signals.send('ended', loss.sessionId);
  else deps.signals.send('outbox', null);
  deps.servers.destroy(loss.serverId, { sessionId: loss.sessionId, attempt: loss.attempt });
}

/** The states in which an attempt is alive. */
const hasAttempt: readonly SessionState[] = ['starting', 'running'];

/** @returns whether it was alive until now */
async function close(tx: Transaction, { sessionId, attempt }: Loss): Promise<boolean> {
  const closed = await tx.query(
    `UPDATE attempts SET state = 'lost', ended_at = now()
     WHERE session_id = $1 AND attempt = $2 AND state = 'live' RETURNING attempt`,
    [sessionId, attempt],
  );
  return closed.length > 0;
}

async function isClosed(tx: Transaction, { sessionId, attempt }: Loss): Promise<boolean> {
  const live = await tx.query(
    `SELECT FROM attempts WHERE session_id = $1 AND attempt = $2 AND state = 'live'`,
    [sessionId, attempt],
  );
  return live.length === 0;
}

async function giveUp(
  deps: LoseAttemptDeps,
  tx: Transaction,
  session: SessionRow,
  loss: Loss,
): Promise<void> {
  await endSession(deps, tx, {
    sessionId: session.id,
    reason: endsAs[loss.why],
    message: `${loss.told === undefined ? '' : `${loss.told} `}Attempt ${loss.attempt} on ${loss.serverId} was lost since ${sentences[loss.why]}; it is the session's loss number ${session.losses + 1}, and ${deps.maxLosses} are allowed.`,
  });
}

async function queueAgain(
  deps: LoseAttemptDeps,
  tx: Transaction,
  session: SessionRow,
  loss: Loss,
  losses: number,
): Promise<void> {
  const generation = session.generation + 1;
  const checkpoint = await lastCheckpoint(tx, session.id);
  const from = checkpoint === null ? 'It begins anew.' : `It goes on from checkpoint ${checkpoint.number}.`;
  const told = loss.told === undefined ? '' : ` (${loss.told})`;
  await changeSessionState(deps.events, tx, session, {
    to: 'pending',
    phase: 'queued',
    message: `Attempt ${loss.attempt} on ${loss.serverId} was lost since ${sentences[loss.why]}${told}. ${from}`,
    set: {
      generation,
      losses,
      server_id: null,
      // What it waits for may come while it starts again; a person's wish stands.
      ...(session.pause_requested === 'by_person' ? {} : { pause_requested: null }),
    },
    stamp: 'queued_at',
  });
  await Promise.all([
    session.state === 'running' ? openPause(tx, session.id, 'lost') : undefined,
    tx.query('INSERT INTO outbox (session_id, generation) VALUES ($1, $2)', [session.id, generation]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'session.queued',
        subject: deps.self,
        body: {
          generation,
          losses,
          ...(checkpoint === null ? {} : { checkpoint: checkpoint.number }),
        },
      },
    ]),
  ]);
}
