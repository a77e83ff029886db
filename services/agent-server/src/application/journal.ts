import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerCommand } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { createBackoff, sleep } from './backoff.ts';
import type { EventSink } from './event-sink.ts';
import { createJournalQueue } from './journal-queue.ts';
import type { JournalBacklog, JournalBounds } from './journal-queue.ts';
import type { Dispatcher } from './ports/dispatcher.ts';
import type { JournalFiles } from './ports/journal-store.ts';
import type { Log } from './ports/log.ts';
import { createGate } from './signal-gate.ts';
import { createUrgency } from './journal-urgency.ts';
import { cut } from './text-stream.ts';

/** One attempt's numbered events: written to disk, sent in order with one batch in flight, kept until acknowledged. */
export interface Journal extends EventSink {
  backlog(): JournalBacklog;
  /** Resolves when every event is acknowledged. */
  drained(signal: AbortSignal): Promise<void>;
  /** Stops sending and removes the files; idempotent. */
  close(): Promise<void>;
}

export interface JournalDeps {
  readonly held: Held;
  readonly files: JournalFiles;
  readonly dispatcher: Pick<Dispatcher, 'sendEvents'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly bounds?: Partial<JournalBounds>;
  /** The dispatcher says that the attempt is not ours. */
  onStale(): void;
  /** Events can no longer be recorded: nothing may go on, for no record means no act. */
  onBroken(error: CodedError | Error): void;
  onCommands(commands: readonly ServerCommand[]): void;
  /** A person wants the session to be paused; told with each answer until it is. */
  onPause(): void;
}

/** Answers that a repeat of the same batch cannot change. */
const refusedForGood: ReadonlySet<string> = new Set(['request_invalid', 'payload_too_large']);

/** How often a batch that the dispatcher refuses is sent before its first event is replaced by a notice. */
const refusalsBeforeReplacement = 5;

export function createJournal(deps: JournalDeps): Journal {
  const queue = createJournalQueue(deps.files, deps.bounds);
  const changed = createGate();
  const urgency = createUrgency(changed.wake);
  const closing = new AbortController();
  let sending = false;
  let writeBroken = false;

  const writing = untilClosed(async () => {
    await changed.until(() => queue.unwritten() > 0, closing.signal);
    try {
      await queue.write();
    } catch (error) {
      // Goes on from memory, so that the session's end can still be told; the session itself must stop.
      queue.keepInMemory();
      if (!writeBroken) deps.onBroken(error as Error);
      writeBroken = true;
    }
    changed.wake();
  });

  const backoff = createBackoff(100, 5000);
  let refusals = 0;
  let limit = Number.POSITIVE_INFINITY;

  const delivering = untilClosed(async () => {
    await changed.until(() => queue.sendable() > 0 && urgency.isDue(queue.acknowledgedSeq()), closing.signal);
    sending = true;
    try {
      const batch = await queue.batch(limit);
      const answer = await deps.dispatcher.sendEvents(deps.held, batch, closing.signal);
      await queue.acknowledge(answer.acknowledgedSeq);
      backoff.reset();
      refusals = 0;
      limit = Number.POSITIVE_INFINITY;
      sending = false;
      changed.wake();
      if (answer.commands.length > 0) deps.onCommands(answer.commands);
      if (answer.pause) deps.onPause();
    } catch (error) {
      await onFailure(error);
    } finally {
      sending = false;
    }
  });

  async function onFailure(error: unknown): Promise<void> {
    closing.signal.throwIfAborted();
    if (isCodedError(error, 'attempt_stale')) {
      closing.abort(error);
      deps.onStale();
      return;
    }
    if (isCodedError(error, 'conflict')) {
      // The dispatcher misses an event that we have forgotten: no repeat can mend that.
      closing.abort(error);
      deps.onBroken(error);
      return;
    }
    deps.log.warn({ ...deps.held, err: error }, 'events could not be delivered; trying again');
    if (isCodedError(error) && refusedForGood.has(error.code)) {
      refusals += 1;
      // One poisonous event must not hold up the others for ever: find it, then put a notice in its place.
      limit = 1;
      if (refusals > refusalsBeforeReplacement) {
        const text = cut(`An event was refused: ${error.message}`, 1000).toWellFormed();
        queue.replaceFirst(line(deps.clock, { type: 'notice', text }));
        refusals = 0;
      }
    }
    await sleep(backoff.next(), closing.signal);
  }

  async function untilClosed(step: () => Promise<void>): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await step();
      } catch (error) {
        if (closing.signal.aborted) return;
        deps.log.error({ ...deps.held, err: error }, 'the journal failed');
        closing.abort(error);
        deps.onBroken(error as Error);
      }
    }
  }

  const waiting = (signal: AbortSignal) => AbortSignal.any([signal, closing.signal]);

  return {
    emit: (event) => {
      const seq = queue.add(line(deps.clock, event));
      urgency.note(event, seq);
      changed.wake();
      return seq;
    },
    room: (signal) => changed.until(() => queue.hasRoom(), waiting(signal)),
    backlog: queue.backlog,
    idle: () => !sending && !urgency.isDue(queue.acknowledgedSeq()),
    acknowledged: (seq, signal) => changed.until(() => queue.acknowledgedSeq() >= seq, waiting(signal)),
    drained: (signal) => changed.until(() => queue.empty(), waiting(signal)),
    close: async () => {
      if (!closing.signal.aborted) closing.abort(new Error('The journal is closed.'));
      urgency.close();
      await Promise.all([writing, delivering]);
      await deps.files.remove();
    },
  };
}

function line(clock: Clock, event: ServerEvent): Buffer {
  return Buffer.from(JSON.stringify({ at: clock.now().toISOString(), event }));
}
