import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { heardNothing } from '../application/no-answer.ts';
import { createGate } from '../application/signal-gate.ts';
import type { Dispatcher } from '../application/ports/dispatcher.ts';
import type { Log } from '../application/ports/log.ts';
import type { SessionDesk } from '../application/sessions/session-desk.ts';

/** Keeps the leases and tells the dispatcher what this server holds: on a timer, and at once on a change. */
export interface Heartbeat {
  /** Something that the dispatcher waits for has changed, such as a slot that is free. */
  wake(): void;
  /** Something that the status tells has changed, and nobody waits for it: told within `soonMs`. */
  soon(): void;
  start(): void;
  /** Sends a last one, so that what was held is known to be gone, and stops. Bounded. */
  stop(): Promise<void>;
}

/**
 * A lease lives 15 s at most; several renewals may get lost before it ends, also where it is set shorter. Runs on the main
 * thread: the sandboxes' wires have their own, and a renewal that is late here shortens the lease and never lengthens it.
 */
const everyMs = 2000;
const renewalsALease = 4;
/** How long a session may outlive its lease. A heartbeat that hangs does not hold this up. */
const leaseLookMs = 250;
const lastWordMs = 2000;
/**
 * A claim changes the number of warm sandboxes just when its session needs the processor and the dispatcher most; the
 * dispatcher knows of the session already.
 */
const soonMs = 150;
const warmEveryMs = 30_000;

export function createHeartbeat(deps: {
  readonly dispatcher: Pick<Dispatcher, 'heartbeat' | 'warm'>;
  readonly desk: SessionDesk;
  readonly status: () => ServerStatus;
  /** Told until the dispatcher has heard it: it writes down what is otherwise than at the start before. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly bootTimeMs: () => number;
  readonly log: Log;
}): Heartbeat {
  const stopping = new AbortController();
  const due = createGate();
  let pending = true;
  let reachable = true;
  let isTold = false;
  let running: Promise<void> = Promise.resolve();
  let beganAt = -Infinity;

  const wake = () => {
    pending = true;
    due.wake();
  };

  async function beat(signal: AbortSignal): Promise<void> {
    pending = false;
    const sentAt = deps.bootTimeMs();
    beganAt = sentAt;
    try {
      const { settings } = deps;
      const status = isTold || settings === undefined ? deps.status() : { ...deps.status(), settings };
      const answer = await deps.dispatcher.heartbeat(status, signal);
      isTold = true;
      deps.desk.apply(answer, sentAt);
      if (!reachable) deps.log.info({}, 'the dispatcher answers again');
      reachable = true;
    } catch (error) {
      if (signal.aborted) return;
      if (!heardNothing(error)) deps.desk.heard(sentAt);
      if (reachable) deps.log.warn({ err: error }, 'the dispatcher does not answer heartbeats');
      reachable = false;
    }
  }

  function look(): void {
    deps.desk.giveUpLost();
    const dueAfter = Math.min(everyMs, (deps.desk.shortestLeaseMs() ?? Infinity) / renewalsALease);
    if (deps.bootTimeMs() - beganAt >= dueAfter) wake();
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await due.until(() => pending, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await beat(stopping.signal);
    }
  }

  let timers: NodeJS.Timeout[] = [];
  let noted: NodeJS.Timeout | undefined;
  return {
    wake,
    soon: () => {
      noted ??= setTimeout(() => {
        noted = undefined;
        wake();
      }, soonMs).unref();
    },
    start: () => {
      void deps.dispatcher.warm();
      timers = [setInterval(look, leaseLookMs), setInterval(() => void deps.dispatcher.warm(), warmEveryMs)];
      running = run();
    },
    stop: async () => {
      timers.forEach(clearInterval);
      stopping.abort(new Error('The server is stopping.'));
      await running;
      await beat(AbortSignal.timeout(lastWordMs));
    },
  };
}
