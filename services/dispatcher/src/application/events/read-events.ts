import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from '../sessions/session-row.ts';
import type { Segments } from './segments.ts';

/** An event's row; an output in a segment is fetched when it is shown, so that a page stays small. */
export interface StoredEvent {
  readonly position: number;
  readonly at: string;
  readonly attempt: number;
  readonly event: SessionEvent | null;
  readonly segmentKey: string | null;
}

export interface StoredPage {
  readonly events: readonly StoredEvent[];
  /** The session's last position and whether it has ended, of the same moment as the events. */
  readonly last: number;
  readonly ended: boolean;
}

/** What one page holds at most; a single larger row still fits alone. */
export interface PageBounds {
  readonly rows: number;
  readonly bytes: number;
}

const usualBounds: PageBounds = { rows: 256, bytes: 1024 * 1024 };

interface PageRow extends Record<string, unknown> {
  readonly state: SessionState;
  readonly event_position: number;
  readonly position: number | null;
  readonly at: string;
  readonly attempt: number;
  readonly event: SessionEvent | null;
  readonly segment_key: string | null;
}

// Row by row, so that nothing is read beyond the page's bounds: the size of 256 large rows took longer to measure than the
// page of eight that came of it took to read.
const pageQuery = (comparison: '>' | '<', order: 'ASC' | 'DESC'): string => {
  const next = (than: string): string => `
    SELECT position, at, attempt, event, segment_key, coalesce(octet_length(event::text), 0)::bigint AS size
    FROM session_events WHERE session_id = $1 AND position ${comparison} ${than} ORDER BY position ${order} LIMIT 1`;
  return `
    WITH RECURSIVE page AS (
      (SELECT next.*, 1 AS nth, size AS bytes FROM (${next('$2')}) next)
      UNION ALL
      (SELECT next.*, page.nth + 1, page.bytes + next.size FROM page, LATERAL (${next('page.position')}) next
       WHERE page.nth < $3 AND page.bytes < $4)
    )
    SELECT s.state, s.event_position, position, at, page.attempt, event, segment_key
    FROM sessions s LEFT JOIN page ON nth = 1 OR bytes <= $4 WHERE s.id = $1 ORDER BY position`;
};
const forwards = pageQuery('>', 'ASC');
const backwards = pageQuery('<', 'DESC');

/**
 * Reads events in ascending order: those after a position, or the nearest ones before it.
 * @throws CodedError `session_unknown`
 */
export async function readEvents(
  tx: Transaction,
  sessionId: string,
  from: { readonly after: number } | { readonly before: number },
  bounds: Partial<PageBounds> = {},
): Promise<StoredPage> {
  const forward = 'after' in from;
  const { rows: most, bytes } = { ...usualBounds, ...bounds };
  const rows = await tx.query<PageRow>(forward ? forwards : backwards, [
    sessionId,
    forward ? from.after : from.before,
    Math.min(most, usualBounds.rows),
    bytes,
  ]);
  const [first] = rows;
  if (first === undefined) throw unknownSession(sessionId);
  return {
    events: rows.flatMap((row) =>
      row.position === null
        ? []
        : [
            {
              position: row.position,
              at: row.at,
              attempt: row.attempt,
              event: row.event,
              segmentKey: row.segment_key,
            },
          ],
    ),
    last: first.event_position,
    ended: sessionHasEnded(first.state),
  };
}

/**
 * Shows a stored event. One whose segment is gone is shown as a gap.
 * @throws CodedError `storage_failed` while the object store is away
 */
export async function showEvent(segments: Segments, stored: StoredEvent): Promise<PositionedEvent> {
  const { position, at, attempt } = stored;
  const event = stored.event ?? (stored.segmentKey === null ? null : await segments.load(stored.segmentKey));
  return event === null
    ? gap(position, position, at, 'the object that held this output is gone')
    : { position, at, attempt, event };
}

/** Positions that can no longer be shown, as an event that stands at the last of them. */
export function gap(from: number, to: number, at: string, reason: string): PositionedEvent {
  return { position: to, at, attempt: 0, event: { type: 'gap', from, to, reason } };
}
