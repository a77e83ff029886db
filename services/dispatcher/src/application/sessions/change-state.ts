import type { EndReason, PauseReason } from '@lemniscate/shared/session/end.ts';
import type { SessionPhase, SessionState } from '@lemniscate/shared/session/state.ts';
import { sessionTransitions } from '@lemniscate/shared/session/state.ts';
import { checkTransition } from '@lemniscate/shared/transition-table.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { tellStates } from '../notify/tell-targets.ts';

/** The session as its caller has just seen it, preferably under its row lock. */
export interface SeenSession {
  readonly id: string;
  readonly version: number;
  readonly state: SessionState;
  readonly attempt: number;
  readonly server_id: string | null;
}

/** Columns that may change together with the state. */
export interface StateColumns {
  readonly attempt?: number;
  readonly generation?: number;
  readonly losses?: number;
  readonly server_id?: string | null;
  readonly stop_reason?: string | null;
  readonly waits_for_environment?: string | null;
  readonly pause_requested?: string | null;
  readonly pause_requested_by?: string | null;
  readonly driver?: string;
  readonly timings_ms?: string;
}

/** Times that a change stamps with the record's own clock. */
export type StampedColumn = 'queued_at' | 'started_at' | 'running_at' | 'ended_at';

export interface StateChange {
  readonly to: SessionState;
  readonly phase: SessionPhase;
  readonly reason?: EndReason | PauseReason | null;
  readonly message?: string | null;
  readonly set?: StateColumns;
  /** Stamped only if still empty, except `queued_at`: the queue's deadline counts from the last return. */
  readonly stamp?: StampedColumn;
}

/**
 * The one place where a session's state changes: along the table, against the version that the caller saw, and never
 * without the `state` event.
 * @returns the session as it is now
 * @throws CodedError `transition_refused`, or `conflict` when somebody changed the row since
 */
export async function changeSessionState(
  events: Pick<EventLog, 'append'>,
  tx: Transaction,
  session: SeenSession,
  change: StateChange,
): Promise<SeenSession> {
  const to = checkTransition(sessionTransitions, session.state, change.to, `session ${session.id}`);
  const set: [column: string, value: unknown][] = [
    ['state', to],
    ['phase', change.phase],
    ['reason', change.reason ?? null],
    ['message', change.message ?? null],
    ...Object.entries(change.set ?? {}),
  ];
  const assignments = set.map(([column], index) => `${column} = $${index + 3}`);
  if (change.stamp === 'queued_at') assignments.push('queued_at = now()');
  else if (change.stamp !== undefined) assignments.push(`${change.stamp} = coalesce(${change.stamp}, now())`);
  const update = tx.query<{ version: number; attempt: number; server_id: string | null }>(
    `UPDATE sessions SET version = version + 1, ${assignments.join(', ')}
     WHERE id = $1 AND version = $2 RETURNING version, attempt, server_id`,
    [session.id, session.version, ...set.map(([, value]) => value)],
  );
  const attempt = change.set?.attempt ?? session.attempt;
  const server = change.set?.server_id === undefined ? session.server_id : change.set.server_id;
  // Sent without waiting for the update: both travel in one round trip, and a lost race rolls both back.
  const [[row]] = await Promise.all([
    update,
    events.append(tx, session.id, attempt, [
      {
        type: 'state',
        state: to,
        phase: change.phase,
        reason: change.reason ?? null,
        attempt,
        server,
        ...(change.message == null ? {} : { message: change.message }),
      },
    ]),
    tellStates(tx, [session.id]),
  ]);
  if (row === undefined) throw changedMeanwhile(session.id);
  return { ...session, ...row, state: to };
}

/** A session that begins to start, and where. */
export interface SessionStart {
  readonly session: SeenSession;
  readonly attempt: number;
  readonly serverId: string;
}

/**
 * The same for several sessions that begin to start together: by the table, against the versions that were seen, each
 * with its `state` event. Resolves when all is sent.
 * @throws CodedError as `changeSessionState`, for all of them together
 */
export async function startSessions(
  events: Pick<EventLog, 'appendPlaced'>,
  tx: Transaction,
  starts: readonly SessionStart[],
): Promise<void> {
  for (const { session } of starts)
    checkTransition(sessionTransitions, session.state, 'starting', `session ${session.id}`);
  const ids = starts.map(({ session }) => session.id);
  const rows = await tx.query<{ id: string; position: number }>(
    `UPDATE sessions SET version = sessions.version + 1, event_position = event_position + 1, state = 'starting',
       phase = 'placing', reason = NULL, message = NULL, attempt = given.attempt, server_id = given.server_id,
       waits_for_environment = NULL, started_at = coalesce(started_at, now())
     FROM unnest($1::text[], $2::int[], $3::int[], $4::text[]) AS given (id, version, attempt, server_id)
     WHERE sessions.id = given.id AND sessions.version = given.version
     RETURNING sessions.id, event_position AS position`,
    [
      ids,
      starts.map(({ session }) => session.version),
      starts.map(({ attempt }) => attempt),
      starts.map(({ serverId }) => serverId),
    ],
  );
  const positions = new Map(rows.map(({ id, position }) => [id, position]));
  const placed = starts.map(({ session, attempt, serverId }) => {
    const position = positions.get(session.id);
    if (position === undefined) throw changedMeanwhile(session.id);
    const event = {
      type: 'state',
      state: 'starting',
      phase: 'placing',
      reason: null,
      attempt,
      server: serverId,
    } as const;
    return { sessionId: session.id, attempt, position, event };
  });
  // Not awaited: they travel with the commit, which fails where one of them does.
  Promise.all([events.appendPlaced(tx, placed), tellStates(tx, ids)]).catch(() => undefined);
}

function changedMeanwhile(sessionId: string): CodedError {
  return new CodedError('conflict', `Session ${sessionId} was changed by somebody else; look again.`, {
    session: sessionId,
  });
}
