import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';
import { gap, readEvents, showEvent } from './read-events.ts';
import type { Segments } from './segments.ts';

/** Which part of the log: forwards after a position, or backwards before one. */
export type LogRange = { readonly after: number } | { readonly before: number };

export interface LogPage {
  readonly events: readonly PositionedEvent[];
  /** Where to go on; null when there is nothing after this page at present. */
  readonly nextAfter: number | null;
  /** Where to go on backwards; null at the beginning. */
  readonly nextBefore: number | null;
}

// Segments of a page are fetched together, but not so many that a page of large output fills the memory: 8 × 256 KiB.
const parallelSegments = 8;

/**
 * One page of a session's log in ascending order, holes shown as gaps.
 * @throws CodedError `session_unknown`, `storage_failed`
 */
export async function logPage(
  deps: { readonly database: Transaction; readonly segments: Segments },
  sessionId: string,
  range: LogRange,
  limit: number,
): Promise<LogPage> {
  const page = await readEvents(deps.database, sessionId, range, { rows: limit });
  const events: PositionedEvent[] = [];
  for (let start = 0; start < page.events.length; start += parallelSegments) {
    const part = page.events.slice(start, start + parallelSegments);
    events.push(...(await Promise.all(part.map((stored) => showEvent(deps.segments, stored)))));
  }
  const first = 'after' in range ? range.after + 1 : (events[0]?.position ?? 1);
  const end =
    'after' in range
      ? (events.at(-1)?.position ?? page.last)
      : Math.min(Math.max(range.before - 1, 0), page.last);
  const whole = fillHoles(events, first, end);
  const nextAfter = end < page.last ? end : null;
  return { events: whole, nextAfter, nextBefore: first > 1 ? first : null };
}

/** Puts a gap wherever positions from `first` to `end` are missing. */
function fillHoles(events: readonly PositionedEvent[], first: number, end: number): PositionedEvent[] {
  const whole: PositionedEvent[] = [];
  let expected = first;
  for (const event of events) {
    if (event.position > expected) whole.push(gap(expected, event.position - 1, event.at, goneReason));
    whole.push(event);
    expected = event.position + 1;
  }
  if (expected <= end)
    whole.push(gap(expected, end, events.at(-1)?.at ?? new Date(0).toISOString(), goneReason));
  return whole;
}

/** Why a hole is there: rows never appear later, since positions are taken in the order of commits. */
export const goneReason = 'these events are no longer kept';
