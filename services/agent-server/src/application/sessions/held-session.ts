import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ServerCommand, SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { createJournal } from '../journal.ts';
import type { JournalBacklog } from '../journal-queue.ts';
import { createLease } from '../lease.ts';
import { createPauseWish } from '../checkpoints/pause-wish.ts';
import { asEndReason } from '../tool-calls/run-tool-call.ts';
import { createTurnInterrupt } from '../runtimes/turn-interrupt.ts';
import { createInterruption } from './interruption.ts';
import type { AbandonCause } from './interruption.ts';
import { runSession } from './run-session.ts';
import type { SessionDeps } from './session-context.ts';
import { tracedJournal, tracedLog } from './traced-session.ts';
import { createTimings } from './timings.ts';
import { createStillness } from './stillness.ts';
import { createUnwind } from './unwind.ts';

/** One attempt that this server has taken. */
export interface HeldSession {
  readonly sessionId: string;
  readonly attempt: number;
  /** As its order gave it. */
  readonly leaseMs: number;
  renew(sentAtMs: number, leaseMs: number): void;
  /** The dispatcher has answered what was sent then. */
  heard(sentAtMs: number): void;
  /** Ends it with the reason that the dispatcher has recorded. */
  stop(reason: string): void;
  /** Puts it away as soon as it stands at a boundary; asked again and again until then. */
  pause(reason: string): void;
  /** Cuts short what the agent does at the moment; it then waits for its person. */
  interrupt(): void;
  abandon(cause: AbandonCause): void;
  /**
   * Gives up an attempt that is cut off with its lease at its end, or whose lease ended long ago. One of which only the
   * result is left has nothing that could do harm, and goes on offering it. Until then its processes stand still.
   */
  checkLease(): void;
  /** What the dispatcher has not acknowledged. */
  backlog(): JournalBacklog;
  /** Whether it was given up since its lease had ended. */
  leaseLost(): boolean;
  /** Whether it still takes a slot. */
  holdsSlot(): boolean;
  /** Resolves when nothing of it is left and its result is delivered or void; never rejects. */
  readonly done: Promise<void>;
}

/**
 * Begins an attempt. The lease counts from now, the order's arrival.
 * @param before an earlier attempt of the same session that has to be gone first
 */
export function holdSession(
  given: SessionDeps,
  order: SessionOrder,
  before: Promise<void>,
  events: { onSlotFree(): void; onCommands(commands: readonly ServerCommand[]): void },
): HeldSession {
  const { sessionId, attempt } = order;
  const trace = given.traces?.begin(order) ?? null;
  const deps = trace === null ? given : { ...given, log: tracedLog(given.log, trace) };
  const held = { sessionId, attempt };
  const interruption = createInterruption();
  const wish = createPauseWish(() => deps.clock.monotonicMs());
  const interrupt = createTurnInterrupt();
  const lease = createLease(deps.bootTimeMs, deps.bootTimeMs(), order.leaseMs);
  const stillness = createStillness(lease, deps.log);
  const kept = createJournal({
    held,
    files: deps.journals.open(held),
    dispatcher: deps.dispatcher,
    clock: deps.clock,
    log: deps.log,
    onStale: () => interruption.abandon('stale'),
    onBroken: (error) => {
      const message = isCodedError(error)
        ? error.message
        : 'What the session does can no longer be recorded.';
      interruption.stop('runtime_failed', message);
    },
    onCommands: events.onCommands,
    onPause: () => wish.ask('by_person'),
  });
  const journal = trace === null ? kept : tracedJournal(kept, trace);
  const context = {
    deps,
    order,
    held,
    journal,
    lease,
    stillness,
    interruption,
    wish,
    interrupt,
    timings: createTimings(deps.clock),
    unwind: createUnwind(deps.log),
  };
  let holdsSlot = true;
  const freeSlot = () => {
    if (!holdsSlot) return;
    holdsSlot = false;
    events.onSlotFree();
  };
  const done = before
    .then(() => runSession(context, freeSlot))
    .then(() => trace?.end(interruption.abandoned()));
  return {
    sessionId,
    attempt,
    leaseMs: order.leaseMs,
    renew: lease.renew,
    heard: lease.heard,
    stop: (reason) => interruption.stop(asEndReason(reason), ''),
    pause: wish.ask,
    interrupt: interrupt.ask,
    abandon: interruption.abandon,
    checkLease: () => {
      stillness.look();
      if (lease.lost() || (holdsSlot && lease.cutOff())) interruption.abandon('lease_lost');
    },
    holdsSlot: () => holdsSlot,
    backlog: journal.backlog,
    leaseLost: () => interruption.abandoned() === 'lease_lost',
    done,
  };
}
