import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AgentServers, PlacementAnswer } from '../ports/agent-servers.ts';
import type { Log } from '../ports/log.ts';
import type { PlacementJob } from '../ports/placement-queue.ts';
import type { Reservations } from '../ports/reservations.ts';
import { defaultPool } from '../servers/configured-server.ts';
import { findServer } from '../servers/server-row.ts';
import { endSession } from '../sessions/end-session.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import { mintAttempt } from './mint-attempt.ts';
import type { MintDeps } from './mint-attempt.ts';
import { orderRepository, sessionOrder } from './session-order.ts';
import type { BundleAddress } from './session-order.ts';
import { takeBackAttempt } from './take-back-attempt.ts';

export interface PlaceSessionDeps extends MintDeps {
  readonly servers: AgentServers;
  readonly reservations: Reservations;
  readonly bundleAddress: BundleAddress;
  readonly signals: Signals;
  readonly log: Log;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Tells the ledger what the record knows of servers, after a Redis that forgot. */
  readonly rebuildLedger: () => Promise<void>;
}

/** `again`: nothing was free; look again after the delay. `failures` say which servers failed how. */
export type PlacementResult =
  | { readonly again: false }
  | { readonly again: true; readonly delayMs: number; readonly failures: readonly string[] };

/** Servers that may fail on one session before it fails itself. */
const maxFailures = 3;
const done: PlacementResult = { again: false };

/**
 * Step 3 of a session: reserve a slot, mint the attempt, order it; again elsewhere when a server is full (final, cheap,
 * no failure) or fails (excluded and counted). Where nothing is free the job comes back later.
 * @param failures of earlier looks at the same job
 * @param looks how many those were
 */
export async function placeSession(
  deps: PlaceSessionDeps,
  job: PlacementJob,
  failures: readonly string[],
  looks: number,
): Promise<PlacementResult> {
  const told = [...failures];
  const exclude: string[] = [];
  let rebuilt = false;
  for (let step = 0; ; step += 1) {
    const session = await pendingSession(deps, job);
    if (session === null) return done;
    // Numbered by look and step: a late repeat of an earlier release must not free a later reservation.
    const operation = `${job.sessionId}-g${job.generation}-${looks * 1_000 + step}`;
    const reservation = await deps.reservations.reserve({
      operation,
      pool: defaultPool,
      pinned: session.pinned_server,
      exclude,
    });
    if (reservation.kind === 'empty' && !rebuilt) {
      rebuilt = true;
      await deps.rebuildLedger();
      continue;
    }
    if (
      reservation.kind === 'empty' &&
      session.pinned_server !== null &&
      (await hasLeft(deps, session.pinned_server))
    ) {
      await failForGood(deps, job.sessionId, [`${session.pinned_server}: the workstation has left`]);
      return done;
    }
    if (reservation.kind !== 'reserved') return later(deps, told, looks);
    const { serverId } = reservation;
    const outcome = await tryServer(deps, job, session, serverId, operation);
    if (outcome === 'placed' || outcome === 'moved') return done;
    exclude.push(serverId);
    if (outcome.failure === null) continue;
    told.push(`${serverId}: ${outcome.failure}`);
    if (told.length < maxFailures) continue;
    await failForGood(deps, job.sessionId, told);
    return done;
  }
}

async function pendingSession(
  deps: PlaceSessionDeps,
  job: PlacementJob,
): Promise<Pick<SessionRow, 'project_id' | 'pinned_server' | 'repository'> | null> {
  const [row] = await deps.database.query<SessionRow>(
    `SELECT project_id, pinned_server, repository FROM sessions
     WHERE id = $1 AND state = 'pending' AND generation = $2`,
    [job.sessionId, job.generation],
  );
  return row ?? null;
}

/** `moved`: the session is no longer ours to place. `failure` null: the server was full. */
type Tried = 'placed' | 'moved' | { readonly failure: string | null };

async function tryServer(
  deps: PlaceSessionDeps,
  job: PlacementJob,
  session: Pick<SessionRow, 'project_id' | 'repository'>,
  serverId: string,
  operation: string,
): Promise<Tried> {
  let occupied = false;
  try {
    const repository = await orderRepository(session.project_id, session.repository, deps.bundleAddress);
    const minted = await mintAttempt(deps, job, serverId);
    if (minted === null) return 'moved';
    const { attempt, relayToken } = minted;
    const order = sessionOrder(minted.session, attempt, relayToken, repository, deps.times);
    const answer = await deps.servers.place(serverId, order);
    if (answer.kind !== 'taken') return await takeBack(deps, job, attempt, serverId, answer);
    occupied = await isLive(deps, job.sessionId, attempt);
    // A stop that came while the order was under way may have reached the server before the order did.
    if (!occupied) deps.servers.destroy(serverId, { sessionId: job.sessionId, attempt });
    return 'placed';
  } finally {
    // The reservation of a placed session stands until the server's next word counts the session itself.
    if (!occupied) await deps.reservations.release(operation);
  }
}

async function takeBack(
  deps: PlaceSessionDeps,
  job: PlacementJob,
  attempt: number,
  serverId: string,
  answer: Exclude<PlacementAnswer, { kind: 'taken' }>,
): Promise<Tried> {
  const failed = answer.kind === 'failed';
  const how = failed ? answer.how : 'server_full';
  const pending = await takeBackAttempt(deps, {
    sessionId: job.sessionId,
    attempt,
    serverId,
    kind: failed ? 'failed' : 'refused',
    how,
  });
  if (failed) {
    deps.log.warn(
      { session: job.sessionId, attempt, server: serverId, how },
      'an agent server failed an order',
    );
    if (answer.reachable) deps.servers.destroy(serverId, { sessionId: job.sessionId, attempt });
    else {
      await deps.reservations.withdraw(serverId);
      deps.signals.send('probeServers', undefined);
    }
  }
  return pending ? { failure: failed ? how : null } : 'moved';
}

async function hasLeft(deps: PlaceSessionDeps, serverId: string): Promise<boolean> {
  return (await findServer(deps.database, serverId)) === null;
}

async function isLive(deps: PlaceSessionDeps, sessionId: string, attempt: number): Promise<boolean> {
  const rows = await deps.database.query(
    `SELECT 1 FROM attempts WHERE session_id = $1 AND attempt = $2 AND state = 'live'`,
    [sessionId, attempt],
  );
  return rows.length > 0;
}

/** Delays grow from about two to about fifteen seconds; a freed slot brings the oldest waiting job forward. */
function later(deps: PlaceSessionDeps, failures: readonly string[], looks: number): PlacementResult {
  const base = Math.min(2_000 * 1.5 ** Math.min(looks, 10), 12_000);
  return { again: true, delayMs: Math.round(base * (0.75 + deps.random() / 2)), failures };
}

async function failForGood(
  deps: PlaceSessionDeps,
  sessionId: string,
  failures: readonly string[],
): Promise<void> {
  try {
    await deps.database.transaction((tx) =>
      endSession(deps, tx, {
        sessionId,
        reason: 'no_capacity',
        message: `No agent server took the session. ${failures.join('; ')}. See GET /v1/servers for their state.`,
      }),
    );
  } catch (error) {
    if (isCodedError(error, 'session_ended')) return;
    throw error;
  }
  deps.events.announce(sessionId);
  deps.signals.send('ended', sessionId);
}
