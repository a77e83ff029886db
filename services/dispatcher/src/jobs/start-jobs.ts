import { closeAbandoned } from '../application/audit/abandoned-calls.ts';
import { createStoppedFleetWatch } from '../application/intake/stop-fleet.ts';
import { watchEnvironments } from '../application/environments/watch-environments.ts';
import type { WatchEnvironmentsDeps } from '../application/environments/watch-environments.ts';
import { forgetSuperseded } from '../application/checkpoints/forget-superseded.ts';
import { createQueueBook } from '../application/admission/queue-book.ts';
import { queueDepth } from '../application/admission/admit-sessions.ts';
import { endPinned } from '../application/placement/end-pinned.ts';
import { retainContent } from '../application/content/retain-content.ts';
import type { RetainDeps } from '../application/content/retain-content.ts';
import { applyRetention } from '../application/retention/apply-retention.ts';
import { removeObjects } from '../application/retention/object-removals.ts';
import { createLiveLook } from '../application/placement/live-look.ts';
import { createMint } from '../application/placement/mint-attempt.ts';
import { placeSession } from '../application/placement/place-session.ts';
import type { PlaceSessionDeps } from '../application/placement/place-session.ts';
import { abortLostExchanges, sayAlive } from '../application/gateway/gateway-alive.ts';
import type { AliveDeps } from '../application/gateway/gateway-alive.ts';
import { reapExchanges } from '../application/gateway/reap-exchanges.ts';
import type { ReapExchangesDeps } from '../application/gateway/reap-exchanges.ts';
import { tickFleet } from '../application/recovery/credit-downtime.ts';
import { loseClosed } from '../application/recovery/lose-closed.ts';
import { moveDrained } from '../application/recovery/move-drained.ts';
import { createBacklogWalk, requeueForgotten } from '../application/recovery/requeue-forgotten.ts';
import { expireExtensions } from '../application/budgets/decide-extension.ts';
import { finishIdle } from '../application/messages/send-message.ts';
import { parkWaiting } from '../application/pausing/park-waiting.ts';
import type { ParkDeps } from '../application/pausing/park-waiting.ts';
import { resumeAnswered } from '../application/pausing/resume-answered.ts';
import type { ResumeAnsweredDeps } from '../application/pausing/resume-answered.ts';
import { probeServers } from '../application/servers/probe-servers.ts';
import type { ProbeDeps, ProbeMemory } from '../application/servers/probe-servers.ts';
import { createServerLists } from '../application/servers/server-lists.ts';
import type { ServerListDeps } from '../application/servers/server-lists.ts';
import type { Leadership } from '../application/ports/leadership.ts';
import type { PlacementQueue, ReservedJob } from '../application/ports/placement-queue.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { SignalName } from '../application/signals.ts';
import { startAdmission } from './admission.ts';
import { expireApprovals } from './approval-expiry.ts';
import { stopOverdue } from './budget-watch.ts';
import { keepCosts } from './cost-loops.ts';
import { createRevocationWatch } from './revocation-watch.ts';
import type { RevocationWatchDeps } from './revocation-watch.ts';
import { forgetAbandoned } from '../application/uploads/forget-abandoned.ts';
import { fillInbox } from '../application/inbox/fill-inbox.ts';
import { answerSessions } from '../application/triggers/answer-sessions.ts';
import { deliverNotices, forgetNotices } from '../application/notify/deliver-notices.ts';
import type { NoticeDeps } from '../application/notify/deliver-notices.ts';
import { disableRevoked } from '../application/triggers/disable-trigger.ts';
import { fireSchedules } from '../application/triggers/fire-schedules.ts';
import { forgetOld } from '../application/triggers/receipts.ts';
import { publishScaling } from '../application/servers/publish-scaling.ts';
import type { PublishScalingDeps } from '../application/servers/publish-scaling.ts';
import { startWishes } from '../application/triggers/start-wishes.ts';
import type { StartWishDeps } from '../application/triggers/start-wishes.ts';
import { startLoop } from './loop.ts';
import type { Loop } from './loop.ts';
import { reap } from './reaper.ts';
import type { ReaperDeps } from './reaper.ts';

export interface JobDeps
  extends
    Omit<PlaceSessionDeps, 'mint' | 'isLive'>,
    ProbeDeps,
    ServerListDeps,
    ParkDeps,
    ResumeAnsweredDeps,
    ReaperDeps,
    ReapExchangesDeps,
    AliveDeps,
    RevocationWatchDeps,
    WatchEnvironmentsDeps,
    RetainDeps,
    StartWishDeps,
    PublishScalingDeps,
    NoticeDeps {
  readonly rebuildLedger: () => Promise<void>;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly queue: PlacementQueue & {
    work(place: (job: ReservedJob) => Promise<void>): void;
  };
}

export interface Jobs {
  stop(timeoutMs: number): Promise<void>;
}

/**
 * Of all dispatchers one does these at a time; each finds in the record what is to be done, so a kick that came to
 * another one costs until the leader's timer. The others run everywhere: they watch what is this process' own, or must
 * not wait for a hand-over.
 */
const singletons: ReadonlySet<string> = new Set([
  'requeue',
  'backlog walk',
  'approval expiry',
  'park waiting',
  'resume answered',
  'idle sessions',
  'extension expiry',
  'budget watch',
  'drained servers',
  'closed attempts',
  'stopped fleet',
  'exchanges',
  'abandoned calls',
  'schedules',
  'owners of triggers',
  'old deliveries',
  'retention',
  'content',
  'object removals',
  'costs',
  'scaling',
]);

/**
 * Sessions end by hundreds a second, and so do heartbeats come of servers that are not known yet; looks that each of them
 * kicked ran one behind the other, without a pause.
 */
const restAfterKicksMs = 200;
const comeByHundreds: ReadonlySet<SignalName | null> = new Set(['ended', 'probeServers']);

/** The loops that keep the fleet right, each on its signal and on its timer, and the workers of the queue. */
export function startJobs(deps: JobDeps): Jobs {
  const { log } = deps;
  const probes: ProbeMemory = new Map();
  const lists = createServerLists(deps);
  const book = createQueueBook(deps.database, () => deps.clock.monotonicMs());
  const plan: readonly [
    name: string,
    everyMs: number,
    signal: SignalName | null,
    work: () => Promise<unknown>,
  ][] = [
    ['probe', 2_000, 'probeServers', () => probeServers(deps, lists, 'answering', probes)],
    ['probe of doubtful', 2_000, null, () => probeServers(deps, lists, 'doubtful', probes)],
    // Beside the probes, which may take long: who is silent for a while names nothing.
    ['server lists', 2_000, null, lists.look],
    ['queue book', 1_000, null, book.look],
    ['fleet watch', 1_000, null, () => tickFleet(deps)],
    ['reaper', 1_000, 'probeServers', () => reap(deps)],
    ['requeue', 2_000, 'redisBack', () => requeueForgotten(deps)],
    ['backlog walk', 2_000, 'redisBack', createBacklogWalk(deps)],
    ['approval expiry', 1_000, null, () => expireApprovals(deps)],
    ['park waiting', 1_000, null, () => parkWaiting(deps)],
    ['resume answered', 500, 'approvals', () => resumeAnswered(deps)],
    ['idle sessions', 5_000, null, () => finishIdle(deps)],
    ['extension expiry', 1_000, null, () => expireExtensions(deps)],
    ['budget watch', 5_000, null, () => stopOverdue(deps)],
    ['gateway alive', 5_000, null, () => sayAlive(deps)],
    ['lost exchanges', 5_000, 'ended', () => abortLostExchanges(deps)],
    ['revocations', 1_000, 'userRevoked', createRevocationWatch(deps)],
    ['drained servers', 2_000, null, () => moveDrained(deps)],
    ['closed attempts', 10_000, null, () => loseClosed(deps)],
    ['stopped fleet', 2_000, null, createStoppedFleetWatch(deps)],
    ['exchanges', 5_000, 'ended', () => reapExchanges(deps)],
    ['abandoned calls', 5_000, 'ended', () => closeAbandoned(deps)],
    ['start wishes', 1_000, 'wishes', () => startWishes(deps)],
    ['schedules', 1_000, null, () => fireSchedules(deps)],
    ['owners of triggers', 5_000, 'userRevoked', () => disableRevoked(deps)],
    ['messages', 1_000, null, () => deliverNotices(deps)],
    ['old messages', 60_000, null, () => forgetNotices(deps.database)],
    ['old deliveries', 60_000, null, () => forgetOld(deps.database)],
    ['answers', 1_000, 'ended', () => answerSessions(deps)],
    ['inbox', 1_000, 'approvals', () => fillInbox(deps)],
    ['environments', 5_000, 'ended', () => watchEnvironments(deps)],
    ['superseded checkpoints', 60_000, null, () => forgetSuperseded(deps)],
    ['abandoned uploads', 3_600_000, null, () => forgetAbandoned(deps.database)],
    ['retention', 60_000, null, () => applyRetention(deps)],
    ['content', 10_000, 'ended', () => retainContent(deps)],
    ['object removals', 10_000, 'erased', () => removeObjects(deps)],
    ['costs', 3_000, null, () => keepCosts(deps)],
    ['scaling', 60_000, null, () => publishScaling(deps)],
  ];
  const admission = startAdmission({ ...deps, endPinned: (serverId) => endPinned(deps, serverId) });
  const unsubscribes = [
    deps.signals.on('outbox', admission.opened),
    deps.signals.on('slotFreed', admission.kick),
    deps.signals.on('running', ({ serverId, sessionId }) => {
      deps.reservations.running(serverId, sessionId).catch((error: unknown) => {
        // The server's next heartbeat corrects it.
        log.debug({ err: error, server: serverId }, 'the ledger was not told that a session runs');
      });
    }),
  ];
  const loops: Loop[] = plan.map(([name, everyMs, signal, work]) => {
    const single = singletons.has(name);
    const loop = startLoop({
      name,
      everyMs,
      ...(comeByHundreds.has(signal) ? { restMs: restAfterKicksMs } : {}),
      log,
      work: async () => {
        if (!single || deps.leadership.leads()) await work();
      },
    });
    if (signal !== null) unsubscribes.push(deps.signals.on(signal, loop.kick));
    return loop;
  });
  const placing = { ...deps, mint: createMint(deps), isLive: createLiveLook(deps.database) };
  let begun = 0;
  deps.queue.work(async (job) => {
    // A full queue stops admission, and what empties it are these.
    begun += 1;
    if (begun % (queueDepth / 4) === 0) admission.kick();
    await placeSession(placing, job);
  });
  return {
    stop: async (timeoutMs) => {
      for (const unsubscribe of unsubscribes) unsubscribe();
      await Promise.all([lists.leave(), ...[admission, ...loops].map((loop) => loop.stop(timeoutMs))]);
    },
  };
}
