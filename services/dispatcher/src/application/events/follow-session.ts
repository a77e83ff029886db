import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { LiveEvents } from '../ports/live-events.ts';
import type { Log } from '../ports/log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { CatchUp } from './catch-up.ts';
import { createLiveBuffer } from './live-buffer.ts';
import { goneReason } from './log-page.ts';
import type { PositionWatch } from './position-watch.ts';
import { gap, readEvents, showEvent } from './read-events.ts';
import type { StoredEvent, StoredPage } from './read-events.ts';
import type { Segments } from './segments.ts';

export interface FollowDeps {
  readonly database: Transaction;
  readonly live: LiveEvents;
  readonly segments: Segments;
  readonly watch: PositionWatch;
  readonly catchUp: CatchUp;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest that a reader waits for a record or an object store that is away, before it is told; 10 s if absent. */
  readonly patienceMs?: number;
}

const usualPatienceMs = 10_000;
const retryMs = 500;
/** Of a page of history: what one reader holds, and what is parsed and written in one go while others wait. */
const pageBytes = 256 * 1024;
// Wakes the loop now and then although the watch would, so that no lost promise can strand a reader.
const idleMs = 30_000;

/**
 * A session's events after a position: history from the record, then live, each once, in order and without a hole
 * that is not told. Ends when the session has ended and everything was given, or when the signal aborts. It is pulled:
 * a slow reader holds one page and one bounded buffer, whatever the session does.
 * @throws CodedError `session_unknown`; the record's error when it stays away for 10 s (the reader resumes later)
 */
export async function* followSession(
  deps: FollowDeps,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<PositionedEvent, void, undefined> {
  let position = after;
  // A first page is read at once, for mostly it is all there is; whoever needs more takes turns.
  let isFarBehind = false;
  const buffer = createLiveBuffer();
  const stopListening = deps.live.subscribe(sessionId, buffer.hear);
  const stopWatching = deps.watch.watch({
    sessionId,
    position: () => position,
    behind: buffer.markStale,
  });
  try {
    while (!signal.aborted) {
      const next = buffer.take(position);
      if (next !== undefined) {
        position = next.position;
        yield next;
        // Whether more follows the end is for the record to say.
        if (isEndState(next)) buffer.markStale();
        continue;
      }
      if (!buffer.takeStale()) {
        await buffer.wait(idleMs, signal);
        continue;
      }
      const read = (): Promise<StoredPage> =>
        readEvents(deps.database, sessionId, { after: position }, { bytes: pageBytes });
      const page = await patiently(deps, patienceOf(deps), signal, () =>
        isFarBehind ? deps.catchUp(read) : read(),
      );
      if (page === undefined) return;
      for await (const event of showPage(deps, page, position, signal)) {
        position = event.position;
        yield event;
      }
      const caughtUp = position >= page.last;
      if (caughtUp && page.ended) return;
      isFarBehind = !caughtUp;
      if (!caughtUp) buffer.markStale();
    }
  } finally {
    stopListening();
    stopWatching();
  }
}

function patienceOf(deps: FollowDeps): number {
  return deps.patienceMs ?? usualPatienceMs;
}

function isEndState({ event }: PositionedEvent): boolean {
  return event.type === 'state' && sessionHasEnded(event.state);
}

async function* showPage(
  deps: FollowDeps,
  page: StoredPage,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<PositionedEvent, void, undefined> {
  let expected = after + 1;
  // Whoever has waited once for the store does not wait again for each output behind it.
  let patience = patienceOf(deps);
  for (const stored of page.events) {
    if (signal.aborted) return;
    if (stored.position > expected) yield gap(expected, stored.position - 1, stored.at, goneReason);
    const shown = await showPatiently(deps, stored, patience, signal);
    patience = shown.event.type === 'gap' ? 0 : patienceOf(deps);
    yield shown;
    expected = stored.position + 1;
  }
  if (page.events.length === 0 && expected <= page.last)
    yield gap(expected, page.last, deps.clock.now().toISOString(), goneReason);
}

/** An output whose object store stays away is told as a gap: an approval behind it must not wait for an outage. */
async function showPatiently(
  deps: FollowDeps,
  stored: StoredEvent,
  patience: number,
  signal: AbortSignal,
): Promise<PositionedEvent> {
  const untold = gap(
    stored.position,
    stored.position,
    stored.at,
    'the object store does not answer; read the log later',
  );
  try {
    return (await patiently(deps, patience, signal, () => showEvent(deps.segments, stored))) ?? untold;
  } catch (error) {
    if (!isCodedError(error, 'storage_failed')) throw error;
    return untold;
  }
}

/** Repeats what fails for a while. Undefined when the reader has gone meanwhile. */
async function patiently<Result>(
  deps: FollowDeps,
  patience: number,
  signal: AbortSignal,
  attempt: () => Promise<Result>,
): Promise<Result | undefined> {
  const deadline = deps.clock.monotonicMs() + patience;
  while (!signal.aborted) {
    try {
      return await attempt();
    } catch (error) {
      if (isCodedError(error, 'session_unknown') || deps.clock.monotonicMs() >= deadline) throw error;
      deps.log.warn({ err: error }, 'a live reader could not read; trying again');
      await pause(retryMs, signal);
    }
  }
  return undefined;
}

/** Waits; returns early when the reader has gone. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', abort);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}
