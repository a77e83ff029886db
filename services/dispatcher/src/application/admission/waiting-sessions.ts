import type { Lane } from '@lemniscate/shared/queue/fair-share.ts';
import type { WaitingClass, WaitingPool } from '@lemniscate/shared/queue/fair-turns.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { Transaction } from '../ports/transaction.ts';
import { occupying } from './concurrency-caps.ts';
import { classJumps } from './known-classes.ts';

/** A session at the head of its lane. */
export interface WaitingSession {
  readonly outboxId: number;
  readonly placementClass: string;
  readonly lane: string;
  readonly sessionId: string;
  readonly generation: number;
  readonly failures: readonly string[];
  readonly projectId: string;
  readonly repository: RepositorySource;
}

/** What waits for one pool, as far as one admission has to know. */
export interface Waiting extends WaitingPool {
  readonly classes: readonly WaitingClassHeads[];
  /** There are more classes than were looked at. */
  readonly partial: boolean;
}

export interface WaitingClassHeads extends WaitingClass {
  /** The first of each lane, in order. */
  readonly heads: ReadonlyMap<string, readonly WaitingSession[]>;
  /** There are more lanes than were looked at. */
  readonly partial: boolean;
}

interface HeadRow extends Record<string, unknown> {
  readonly placement_class: string;
  readonly round: number;
  readonly due: number;
  readonly class_count: number;
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

/** Lanes of a class that one admission looks at, from the cursor on; a fleet with more tenants goes on with the next one. */
export const maxLanes = 100;
/** Classes of a pool that one admission looks at, those that are due first: so many sessions are admitted at most. */
export const maxClasses = 64;

/**
 * Reads the classes of a pool, the lanes of each from its cursor on, and the first sessions of each lane. The work depends on
 * classes, lanes and `wanted`, never on how much waits: classes and lanes are found by jumping through the index, a
 * lane's head by its first entries.
 * @param without classes that are known to find no server
 */
export async function readWaiting(
  tx: Transaction,
  pool: string,
  without: readonly string[],
  wanted: number,
): Promise<Waiting> {
  const rows = await tx.query<HeadRow>(headsQuery, [pool, wanted, without]);
  const [first] = rows;
  return {
    round: first?.round ?? 0,
    classes: [...Map.groupBy(rows, (row) => row.placement_class)].map(([name, own]) => readClass(name, own)),
    partial: (first?.class_count ?? 0) > maxClasses,
  };
}

function readClass(name: string, rows: readonly HeadRow[]): WaitingClassHeads {
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
    name,
    lanes: [...lanes.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    heads,
    cursor: { lane: first?.cursor_lane ?? '', granted: first?.granted ?? false },
    due: first?.due ?? 0,
    partial: (first?.lane_count ?? 0) >= maxLanes,
  };
}

function readHead(row: HeadRow): WaitingSession {
  return {
    outboxId: row.id,
    placementClass: row.placement_class,
    lane: row.lane,
    sessionId: row.session_id,
    generation: row.generation,
    failures: row.failures,
    projectId: row.project_id,
    repository: row.repository,
  };
}

// Recursive jumps: "the first lane behind this one" is one descent of the index, where DISTINCT would read all that
// waits.
const nextLane = (condition: string): string =>
  `SELECT lane FROM outbox WHERE placement_class = class.name AND ${condition} ORDER BY lane LIMIT 1`;

const laneHeads = `
WITH RECURSIVE turn AS (
  SELECT class.cursor_lane COLLATE "C" AS lane
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
  SELECT greatest(1, least($2, ceil(2.0 * $2 / greatest(1, (SELECT count(*) FROM lanes)))))::int AS per_lane,
    (SELECT count(*) FROM lanes)::int AS lane_count
), roomy AS MATERIALIZED (
  SELECT lanes.lane, coalesce(projects.queue_weight, 1) AS weight,
    CASE
      WHEN EXISTS (SELECT FROM intake_pauses WHERE scope = 'project:' || (lanes.lane COLLATE "default")) THEN 0
      WHEN projects.max_concurrent IS NULL THEN NULL
      ELSE greatest(0, projects.max_concurrent - (${occupying('lanes.lane COLLATE "default"', 'projects.max_concurrent')}))::int
    END AS room
  FROM lanes LEFT JOIN projects ON projects.id = (lanes.lane COLLATE "default") AND $1 <> 'pinned'
)
SELECT roomy.lane, bounds.per_lane, bounds.lane_count, roomy.weight, roomy.room,
  coalesce(queue_deficits.deficit, 0) AS deficit,
  head.id, head.session_id, head.generation, head.failures, head.queue_key, sessions.project_id, sessions.repository
FROM roomy CROSS JOIN bounds
LEFT JOIN queue_deficits ON queue_deficits.placement_class = class.name AND queue_deficits.lane = roomy.lane
CROSS JOIN LATERAL (
  -- A lane at its cap needs one row, to be seen: reading its heads was most of an admission beside many of them.
  SELECT id, session_id, generation, failures, queue_key FROM outbox
  WHERE placement_class = class.name AND lane = roomy.lane AND ready_at <= now()
  ORDER BY queue_key, id LIMIT least(bounds.per_lane, coalesce(roomy.room, bounds.per_lane)) + 1
) head
CROSS JOIN LATERAL (
  -- OFFSET keeps it a look-up by key for each head: as a join it was planned as a scan of every session.
  SELECT project_id, repository FROM sessions WHERE id = head.session_id OFFSET 0
) sessions`;

const headsQuery = `
WITH RECURSIVE ${classJumps}, clock AS (
  SELECT coalesce(max(round), 0) AS round FROM queue_clocks WHERE pool = $1
), class AS MATERIALIZED (
  SELECT known.placement_class AS name, coalesce(queue_cursors.lane, '') AS cursor_lane,
    coalesce(queue_cursors.granted, false) AS granted, coalesce(queue_cursors.due, 0) AS due,
    count(*) OVER ()::int AS class_count
  FROM known LEFT JOIN queue_cursors USING (placement_class)
  WHERE split_part(known.placement_class, ';', 1) = $1 AND known.placement_class <> ALL ($3::text[])
  ORDER BY due LIMIT ${maxClasses}
)
SELECT class.name AS placement_class, clock.round, class.due, class.class_count, class.cursor_lane, class.granted, looked.*
FROM class CROSS JOIN clock CROSS JOIN LATERAL (${laneHeads}) looked
WHERE NOT EXISTS (SELECT FROM intake_pauses WHERE scope IN ('fleet', 'pool:' || $1))
ORDER BY class.name, looked.lane, looked.queue_key, looked.id`;
