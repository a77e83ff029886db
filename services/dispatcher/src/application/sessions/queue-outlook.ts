import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { estimateWaitSeconds, queuePosition } from '@lemniscate/shared/queue/outlook.ts';
import type { WaitingLane } from '@lemniscate/shared/queue/outlook.ts';

/** What `queueColumns` selects. */
export interface QueueRow {
  readonly queue_own: number | null;
  readonly queue_lane: string | null;
  readonly queue_lanes: WaitingLane[] | null;
  readonly queue_starts_per_second: number | null;
  readonly queue_paused: 'fleet' | 'pool' | 'project' | null;
}

/** A session's place among the first so many of its own lane is counted; further back nobody needs it exact. */
const countedPlaces = 2_000;

// A session that waits without an outbox row has been admitted: its job is on the way to a server.
const place = `
  SELECT o.placement_class, o.lane,
    (SELECT count(*) FROM (
      SELECT FROM outbox before WHERE before.placement_class = o.placement_class AND before.lane = o.lane
        AND (before.queue_key, before.id) <= (o.queue_key, o.id) LIMIT ${countedPlaces}
    ) counted)::int AS own,
    (SELECT split_part(scope, ':', 1) FROM intake_pauses
     WHERE scope IN ('fleet', 'pool:' || split_part(o.placement_class, ';', 1), 'project:' || s.project_id)
     ORDER BY scope LIMIT 1) AS paused
  FROM outbox o WHERE s.state = 'pending' AND o.session_id = s.id ORDER BY o.id DESC LIMIT 1`;

/** Columns and joins of a session `s` for its outlook. */
export const queueColumns = `q.own AS queue_own, q.lane AS queue_lane, q.paused AS queue_paused,
  queue_book.lanes AS queue_lanes, queue_book.starts_per_second AS queue_starts_per_second`;
export const queueJoins = `LEFT JOIN LATERAL (${place}) q ON true
  LEFT JOIN queue_book ON queue_book.placement_class = q.placement_class`;

/** Where a pending session stands and how long it will wait. */
export function queueOutlook(row: QueueRow): NonNullable<SessionView['queue']> {
  if (row.queue_own === null || row.queue_lane === null)
    return { position: 0, estimatedWaitSeconds: 0, paused: null };
  const lanes = row.queue_lanes ?? [];
  const lane = lanes.find(({ name }) => name === row.queue_lane);
  const own = row.queue_own < countedPlaces ? row.queue_own : Math.max(countedPlaces, lane?.waiting ?? 0);
  const position = queuePosition(own, row.queue_lane, lanes);
  return {
    position,
    estimatedWaitSeconds:
      row.queue_paused === null ? estimateWaitSeconds(position, row.queue_starts_per_second ?? 0) : null,
    paused: row.queue_paused,
  };
}
