import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ResumeOrder } from '@lemniscate/shared/protocol/checkpoint.ts';
import { lastCheckpoint, resumeOrder } from '../checkpoints/checkpoint-row.ts';
import { mirrorKey } from '@lemniscate/shared/repository/mirror-key.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { Span, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { AgentServers, PlacementAnswer } from '../ports/agent-servers.ts';
import type { Log } from '../ports/log.ts';
import type { ReservedJob } from '../ports/placement-queue.ts';
import type { Hold, Reservations } from '../ports/reservations.ts';
import { noteStartFailure } from '../servers/judge-server.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import { endSession } from '../sessions/end-session.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import { openCredentials } from '../agents/agent-credentials.ts';
import { tracePlacement } from '../telemetry/trace-placement.ts';
import { pinMemory } from '../agents/memory.ts';
import { usableRemoteTools } from '../remote-tools/remote-tool-rows.ts';
import type { LiveLook } from './live-look.ts';
import type { Mint, MintDeps } from './mint-attempt.ts';
import { queueAgain } from './queue-again.ts';
import { orderRepository, sessionOrder } from './session-order.ts';
import type { BundleAddress } from './session-order.ts';
import { takeBackAttempt } from './take-back-attempt.ts';

export interface PlaceSessionDeps extends MintDeps {
  readonly mint: Mint;
  readonly isLive: LiveLook;
  readonly servers: AgentServers;
  readonly reservations: Reservations;
  readonly bundleAddress: BundleAddress;
  readonly credentials: CredentialStore;
  readonly signals: Signals;
  readonly log: Log;
  readonly tracer?: Tracer | null;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Servers that may fail on one session before it fails itself. */
const maxFailures = 3;

/**
 * Step 3 of a session: mint an attempt on the reserved server and order it; again elsewhere when the server is full
 * (final, cheap, no failure) or fails (excluded and counted). Where nothing is free the session waits in the backlog again.
 */
export async function placeSession(deps: PlaceSessionDeps, job: ReservedJob): Promise<void> {
  const failures = [...job.failures];
  const exclude: string[] = [];
  let reserved: Hold = { serverId: job.serverId, operation: job.operation };
  for (let step = 1; ; step += 1) {
    const tried = await tryServer(deps, job, reserved);
    if (tried === 'placed' || tried === 'moved') return;
    if (tried === 'unheld') return queueAgain(deps, job, failures, 0);
    exclude.push(reserved.serverId);
    if (tried.failure !== null) failures.push(`${reserved.serverId}: ${tried.failure}`);
    if (failures.length >= maxFailures) return failForGood(deps, job.sessionId, failures);
    const next = await reserveNext(deps, job, tried.session, exclude, step);
    if (next === null) {
      await queueAgain(deps, job, failures, tried.failure === null ? 0 : delayMs(deps, failures.length));
      return;
    }
    reserved = next;
  }
}

async function reserveNext(
  deps: PlaceSessionDeps,
  job: ReservedJob,
  session: Pick<SessionRow, 'project_id' | 'repository'>,
  exclude: readonly string[],
  step: number,
): Promise<Hold | null> {
  // A pinned session has no other server to go to.
  if (job.placementClass === pinnedPool) return null;
  // Numbered by step: a late repeat of an earlier release must not free a later reservation.
  const operation = `${job.sessionId}-g${job.generation}-${step}`;
  const [reservation] = await deps.reservations.reserve({
    wishes: [
      {
        operation,
        placementClass: job.placementClass,
        mirror: mirrorKey(session.project_id, session.repository),
        pinned: null,
      },
    ],
    exclude,
  });
  return reservation?.kind === 'reserved' ? { serverId: reservation.serverId, operation } : null;
}

/**
 * `moved`: the session is no longer ours to place. `unheld`: Redis has forgotten its slot and somebody else has it.
 * `failure` null: the server was full, or this process was too late to hear its answer.
 */
type Tried =
  | 'placed'
  | 'moved'
  | 'unheld'
  | { readonly failure: string | null; readonly session: SessionRow };

async function tryServer(deps: PlaceSessionDeps, job: ReservedJob, reserved: Hold): Promise<Tried> {
  const { serverId, operation } = reserved;
  let occupied = false;
  let span: Span | null = null;
  try {
    const minted = await deps.mint(job, reserved);
    if (minted === null) return 'moved';
    if (minted === 'unheld') return 'unheld';
    const { session, attempt, relayToken } = minted;
    span = tracePlacement(deps.tracer ?? null, session, attempt, serverId);
    const { agent, agent_definition: definition, policy } = session;
    // None of them needs another one's answer: the order waits for the slowest and not for their sum.
    const [repository, resume, memory, credentials, remoteTools] = await Promise.all([
      orderRepository(session.project_id, session.repository, deps.bundleAddress, session.policy.repository),
      attempt === 1 ? null : resumeOf(deps, session.id, session.project_id),
      pinMemory(deps.database, session),
      credentialsOf(deps, session),
      usableRemoteTools(deps.database, agent, definition, policy),
    ]);
    const files = memory?.files ?? null;
    if (credentials === null) return 'moved';
    const order = sessionOrder(
      session,
      attempt,
      relayToken,
      repository,
      resume,
      deps.times,
      files,
      credentials,
      remoteTools,
      span?.context ?? null,
    );
    const answer = await deps.servers.place(serverId, order);
    if (answer.kind !== 'taken') span?.fail(answer.kind);
    if (answer.kind !== 'taken') return await takeBack(deps, job, session, attempt, serverId, answer);
    occupied = await deps.isLive({ sessionId: job.sessionId, attempt });
    // A stop that came while the order was under way may have reached the server before the order did.
    if (!occupied) deps.servers.destroy(serverId, { sessionId: job.sessionId, attempt });
    return 'placed';
  } finally {
    span?.end();
    // The reservation of a placed session stands until the server's next word counts the session itself.
    if (!occupied) await deps.reservations.release(operation);
  }
}

/** Where the session goes on from; null at its beginning. Only its attempts make checkpoints, and none lives now. */
async function resumeOf(
  deps: PlaceSessionDeps,
  sessionId: string,
  projectId: string,
): Promise<ResumeOrder | null> {
  const checkpoint = await lastCheckpoint(deps.database, sessionId);
  if (checkpoint === null) return null;
  return resumeOrder(checkpoint, (sha256) => deps.bundleAddress(projectId, sha256));
}

/** Null when the session has ended over one that was removed since it was opened. */
async function credentialsOf(
  deps: PlaceSessionDeps,
  session: SessionRow,
): Promise<Readonly<Record<string, string>> | null> {
  try {
    return await openCredentials(deps.database, deps.credentials, session);
  } catch (error) {
    if (!isCodedError(error, 'credential_missing')) throw error;
    await endUnstarted(deps, session.id, 'start_failed', error.message);
    return null;
  }
}

async function takeBack(
  deps: PlaceSessionDeps,
  job: ReservedJob,
  session: SessionRow,
  attempt: number,
  serverId: string,
  answer: Exclude<PlacementAnswer, { kind: 'taken' }>,
): Promise<Tried> {
  const failed = answer.kind === 'failed';
  const why = !failed ? 'server_full' : answer.reachable ? 'order_failed' : 'server_unreachable';
  const how = failed ? answer.how : why;
  const isOurs = failed && answer.isOurs === true;
  const outcome = await takeBackAttempt(deps, {
    sessionId: job.sessionId,
    attempt,
    serverId,
    kind: failed ? 'failed' : 'refused',
    why,
  });
  if (outcome === 'taken') return 'moved';
  if (failed) {
    deps.log.warn(
      { session: job.sessionId, attempt, server: serverId, why },
      'an agent server failed an order; the list of servers has its words',
    );
    if (!isOurs)
      await deps.database.transaction((tx) =>
        noteStartFailure(tx, { serverId, sessionId: job.sessionId, how }),
      );
    if (answer.reachable) deps.servers.destroy(serverId, { sessionId: job.sessionId, attempt });
    else {
      await deps.reservations.withdraw(serverId);
      deps.signals.send('probeServers', undefined);
    }
  } else await deps.reservations.fill(serverId);
  return outcome === 'pending' ? { failure: failed && !isOurs ? how : null, session } : 'moved';
}

/** From about two seconds on: a server that fails must not use up a session's three tries within a moment. */
function delayMs(deps: PlaceSessionDeps, failures: number): number {
  return Math.round(2_000 * 1.5 ** failures * (0.75 + deps.random() / 2));
}

async function failForGood(
  deps: PlaceSessionDeps,
  sessionId: string,
  failures: readonly string[],
): Promise<void> {
  await endWithoutCapacity(
    deps,
    sessionId,
    `No agent server took the session. ${failures.join('; ')}. See GET /v1/servers for their state.`,
  );
}

/** Ends a session that no server will ever take; one that has ended meanwhile stays as it is. */
export async function endWithoutCapacity(
  deps: Pick<PlaceSessionDeps, 'database' | 'audit' | 'events' | 'self' | 'signals'>,
  sessionId: string,
  message: string,
): Promise<void> {
  await endUnstarted(deps, sessionId, 'no_capacity', message);
}

async function endUnstarted(
  deps: Pick<PlaceSessionDeps, 'database' | 'audit' | 'events' | 'self' | 'signals'>,
  sessionId: string,
  reason: 'no_capacity' | 'start_failed',
  message: string,
): Promise<void> {
  try {
    await deps.database.transaction((tx) => endSession(deps, tx, { sessionId, reason, message }));
  } catch (error) {
    if (isCodedError(error, 'session_ended')) return;
    throw error;
  }
  deps.events.announce(sessionId);
  deps.signals.send('ended', sessionId);
}
