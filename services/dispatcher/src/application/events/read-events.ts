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

/** Most rows and most bytes of rows that one page holds; a single larger row still fits alone. */
const pageRows = 256;
const pageBytes = 1024 * 1024;

interface PageRow extends Record<string, unknown> {
  readonly state: SessionState;
  readonly event_position: number;
  readonly position: number | null;
  readonly at: string;
  readonly attempt: number;
  readonly event: SessionEvent | null;
  readonly segment_key: string | null;
}

/**
 * Reads events in ascending order: those after a position, or the nearest ones before it.
 * @throws CodedError `session_unknown`
 */
export async function readEvents(
  tx: Transaction,
  sessionId: string,
  from: { readonly after: number } | { readonly before: number },
  limit: number = pageRows,
): Promise<StoredPage> {
  const forward = 'after' in from;
  const rows = await tx.query<PageRow>(
    `SELECT s.state, s.event_position, page.* FROM sessions s LEFT JOIN LATERAL (
       SELECT position, at, attempt, event, segment_key FROM (
         SELECT e.*, row_number() OVER near AS nth, sum(octet_length(e.event::text)) OVER near AS bytes
         FROM (SELECT * FROM session_events WHERE session_id = s.id AND ${forward ? 'position > $2' : 'position < $2'}
               ORDER BY position ${forward ? 'ASC' : 'DESC'} LIMIT $3) e
         WINDOW near AS (ORDER BY e.position ${forward ? 'ASC' : 'DESC'})
       ) counted WHERE nth = 1 OR bytes IS NULL OR bytes <= $4
     ) page ON true WHERE s.id = $1 ORDER BY page.position`,
    [sessionId, forward ? from.after : from.before, Math.min(limit, pageRows), pageBytes],
  );
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
