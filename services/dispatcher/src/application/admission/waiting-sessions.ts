import type { Cursor, Lane } from '@lemniscate/shared/queue/fair-share.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A session at the head of its lane. */
export interface WaitingSession {
  readonly outboxId: number;
  readonly lane: string;
  readonly sessionId: string;
  readonly generation: number;
  readonly failures: readonly string[];
  readonly projectId: string;
  readonly repository: RepositorySource;
}

/** What waits in one class, as far as one admission has to know. */
export interface Waiting {
  readonly lanes: readonly Lane[];
  readonly heads: ReadonlyMap<string, readonly WaitingSession[]>;
  readonly cursor: Cursor;
  /** There are more lanes than were looked at. */
  readonly partial: boolean;
}

interface HeadRow extends Record<string, unknown> {
  readonly lane: string;
  readonly cursor_lane: string;
  readonly granted: boolean;
  readonly weight: number;
  readonly room: number | null;
  readonly deficit: number;
  readonly per_lane: number;
  readonly lane_count: number;
  readonly id: number;
  readonly session_id: string;
  readonly generation: number;
  readonly failures: readonly string[];
  readonly project_id: string;
  readonly repository: RepositorySource;
}

/** Lanes that one admission looks at, from the cursor on; a fleet with more tenants goes on with the next one. */
export const maxLanes = 100;

/**
 * Reads the lanes of a class from the cursor on, and the first sessions of each. The work depends on lanes and `wanted`,
 * never on how much waits: lanes are found by jumping through the index, a lane's head by its first entries.
 */
export async function readWaiting(tx: Transaction, placementClass: string, wanted: number): Promise<Waiting> {
  const rows = await tx.query<HeadRow>(headsQuery, [placementClass, wanted]);
  const lanes = new Map<string, Lane>();
  const heads = new Map<string, WaitingSession[]>();
  for (const row of rows) {
    const list = heads.get(row.lane) ?? [];
    heads.set(row.lane, list);
    // One more than is wanted was asked for, to know whether there is one.
    const more = list.length >= row.per_lane;
    if (!more) list.push(readHead(row));
    lanes.set(row.lane, {
      name: row.lane,
      weight: row.weight,
      waiting: list.length,
      more,
      room: row.room,
      deficit: row.deficit,
    });
  }
  const [first] = rows;
  return {
    lanes: [...lanes.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    heads,
    cursor: { lane: first?.cursor_lane ?? '', granted: first?.granted ?? false },
    partial: (first?.lane_count ?? 0) >= maxLanes,
  };
}

function readHead(row: HeadRow): WaitingSession {
  return {
    outboxId: row.id,
    lane: row.lane,
    sessionId: row.session_id,
    generation: row.generation,
    failures: row.failures,
    projectId: row.project_id,
    repository: row.repository,
  };
}

/** Keeps whose turn is next; a class with one lane has nothing to remember. */
export async function keepTurn(
  tx: Transaction,
  placementClass: string,
  cursor: Cursor,
  deficits: ReadonlyMap<string, number>,
): Promise<void> {
  await Promise.all([
    tx.query(
      `INSERT INTO queue_cursors (placement_class, lane, granted) VALUES ($1, $2, $3)
       ON CONFLICT (placement_class) DO UPDATE SET lane = $2, granted = $3`,
      [placementClass, cursor.lane, cursor.granted],
    ),
    tx.query(
      `INSERT INTO queue_deficits (placement_class, lane, deficit)
       SELECT $1, lane, deficit FROM unnest($2::text[], $3::float8[]) AS kept (lane, deficit)
       ON CONFLICT (placement_class, lane) DO UPDATE SET deficit = excluded.deficit
       WHERE queue_deficits.deficit IS DISTINCT FROM excluded.deficit`,
      [placementClass, [...deficits.keys()], [...deficits.values()]],
    ),
  ]);
}

// Recursive jumps: "the first lane behind this one" is one descent of the index, where DISTINCT would read all that
// waits.
const nextLane = (condition: string): string =>
  `SELECT lane FROM outbox WHERE placement_class = $1 AND ${condition} ORDER BY lane LIMIT 1`;

const headsQuery = `
WITH RECURSIVE turn AS (
  SELECT coalesce(max(lane), '') COLLATE "C" AS lane, coalesce(bool_or(granted), false) AS granted
  FROM queue_cursors WHERE placement_class = $1
), onward AS (
  (SELECT found.lane, 1 AS place FROM turn, LATERAL (${nextLane('lane >= turn.lane')}) found)
  UNION ALL
  (SELECT found.lane, onward.place + 1 FROM onward, LATERAL (${nextLane('lane > onward.lane')}) found
   WHERE onward.place < ${maxLanes})
), wrapped AS (
  (SELECT found.lane, 1 AS place FROM turn, LATERAL (${nextLane('lane < turn.lane')}) found
   WHERE (SELECT count(*) FROM onward) < ${maxLanes})
  UNION ALL
  (SELECT found.lane, wrapped.place + 1 FROM turn, wrapped,
     LATERAL (${nextLane('lane > wrapped.lane AND lane < turn.lane')}) found
   WHERE wrapped.place < ${maxLanes})
), lanes AS (
  SELECT lane FROM onward UNION ALL SELECT lane FROM wrapped
), bounds AS (
  SELECT greatest(1, ceil(2.0 * $2 / greatest(1, (SELECT count(*) FROM lanes))))::int AS per_lane,
    (SELECT count(*) FROM lanes)::int AS lane_count
), roomy AS MATERIALIZED (
  SELECT lanes.lane, coalesce(projects.queue_weight, 1) AS weight,
    CASE
      WHEN EXISTS (SELECT FROM intake_pauses WHERE scope = 'project:' || (lanes.lane COLLATE "default")) THEN 0
      WHEN projects.max_concurrent IS NULL THEN NULL
      ELSE greatest(0, projects.max_concurrent - (
        SELECT count(*) FROM (
          SELECT FROM sessions WHERE project_id = (lanes.lane COLLATE "default")
            AND (state IN ('starting', 'running') OR (state = 'pending' AND phase = 'admitted'))
          LIMIT projects.max_concurrent
        ) occupying))::int
    END AS room
  FROM lanes LEFT JOIN projects ON projects.id = (lanes.lane COLLATE "default") AND $1 <> 'pinned'
)
SELECT roomy.lane, turn.lane AS cursor_lane, turn.granted, bounds.per_lane, bounds.lane_count, roomy.weight, roomy.room,
  coalesce(queue_deficits.deficit, 0) AS deficit,
  head.id, head.session_id, head.generation, head.failures, sessions.project_id, sessions.repository
FROM roomy CROSS JOIN turn CROSS JOIN bounds
LEFT JOIN queue_deficits ON queue_deficits.placement_class = $1 AND queue_deficits.lane = roomy.lane
CROSS JOIN LATERAL (
  -- A lane at its cap needs one row, to be seen: reading its heads was most of an admission beside many of them.
  SELECT id, session_id, generation, failures, queue_key FROM outbox
  WHERE placement_class = $1 AND lane = roomy.lane AND ready_at <= now()
  ORDER BY queue_key, id LIMIT least(bounds.per_lane, coalesce(roomy.room, bounds.per_lane)) + 1
) head
CROSS JOIN LATERAL (
  -- OFFSET keeps it a look-up by key for each head: as a join it was planned as a scan of every session.
  SELECT project_id, repository FROM sessions WHERE id = head.session_id OFFSET 0
) sessions
WHERE NOT EXISTS (
  SELECT FROM intake_pauses WHERE scope IN ('fleet', 'pool:' || split_part($1, ';', 1)))
ORDER BY roomy.lane, head.queue_key, head.id`;
