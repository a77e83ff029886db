import { closeAbandoned } from '../application/audit/abandoned-calls.ts';
import { drainOutbox } from '../application/placement/drain-outbox.ts';
import { placeSession } from '../application/placement/place-session.ts';
import type { PlaceSessionDeps } from '../application/placement/place-session.ts';
import { promoteWaiting } from '../application/placement/promote-waiting.ts';
import { abortLostExchanges, sayAlive } from '../application/gateway/gateway-alive.ts';
import type { AliveDeps } from '../application/gateway/gateway-alive.ts';
import { reapExchanges } from '../application/gateway/reap-exchanges.ts';
import type { ReapExchangesDeps } from '../application/gateway/reap-exchanges.ts';
import { requeueForgotten } from '../application/recovery/requeue-forgotten.ts';
import { expireExtensions } from '../application/budgets/decide-extension.ts';
import { finishIdle } from '../application/messages/send-message.ts';
import { probeServers } from '../application/servers/probe-servers.ts';
import type { ProbeDeps, ProbeMemory } from '../application/servers/probe-servers.ts';
import type { PlacementJob, PlacementQueue } from '../application/ports/placement-queue.ts';
import type { SignalName } from '../application/signals.ts';
import { expireApprovals } from './approval-expiry.ts';
import { stopOverdue } from './budget-watch.ts';
import { keepCosts } from './cost-loops.ts';
import { enforceRevocations } from './revocation-watch.ts';
import type { RevocationWatchDeps } from './revocation-watch.ts';
import { startLoop } from './loop.ts';
import type { Loop } from './loop.ts';
import { reap } from './reaper.ts';
import type { ReaperDeps } from './reaper.ts';

export interface JobDeps
  extends PlaceSessionDeps, ProbeDeps, ReaperDeps, ReapExchangesDeps, AliveDeps, RevocationWatchDeps {
  readonly queue: PlacementQueue & {
    work(
      place: (
        job: PlacementJob,
        failures: readonly string[],
        started: number,
      ) => ReturnType<typeof placeSession>,
    ): void;
  };
}

export interface Jobs {
  stop(timeoutMs: number): Promise<void>;
}

/** The loops that keep the fleet right, each on its signal and on its timer, and the workers of the queue. */
export function startJobs(deps: JobDeps): Jobs {
  const { log } = deps;
  const probes: ProbeMemory = new Map();
  const plan: readonly [
    name: string,
    everyMs: number,
    signal: SignalName | null,
    work: () => Promise<unknown>,
  ][] = [
    ['probe', 2_000, 'probeServers', () => probeServers(deps, probes)],
    ['outbox', 1_000, 'outbox', () => drainOutbox(deps)],
    ['promote', 1_000, 'slotFreed', () => promoteWaiting(deps)],
    ['reaper', 1_000, 'probeServers', () => reap(deps)],
    ['requeue', 2_000, 'redisBack', () => requeueForgotten(deps)],
    ['approval expiry', 1_000, null, () => expireApprovals(deps)],
    ['idle sessions', 5_000, null, () => finishIdle(deps)],
    ['extension expiry', 1_000, null, () => expireExtensions(deps)],
    ['budget watch', 5_000, null, () => stopOverdue(deps)],
    ['gateway alive', 5_000, null, () => sayAlive(deps)],
    ['lost exchanges', 5_000, 'ended', () => abortLostExchanges(deps)],
    ['revocations', 1_000, 'userRevoked', () => enforceRevocations(deps)],
    ['exchanges', 5_000, 'ended', () => reapExchanges(deps)],
    ['abandoned calls', 5_000, 'ended', () => closeAbandoned(deps)],
    ['costs', 3_000, null, () => keepCosts(deps)],
  ];
  const unsubscribes: (() => void)[] = [];
  const loops: Loop[] = plan.map(([name, everyMs, signal, work]) => {
    const loop = startLoop({ name, everyMs, log, work: async () => void (await work()) });
    if (signal !== null) unsubscribes.push(deps.signals.on(signal, loop.kick));
    return loop;
  });
  deps.queue.work((job, failures, started) => placeSession(deps, job, failures, started));
  return {
    stop: async (timeoutMs) => {
      for (const unsubscribe of unsubscribes) unsubscribe();
      await Promise.all(loops.map((loop) => loop.stop(timeoutMs)));
    },
  };
}
