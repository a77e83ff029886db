import type { Database } from '../ports/transaction.ts';

/** Pace is measured over this long. Seconds. */
const paceWindow = 120;
/** A look at a long queue must not be what makes it longer: at most a twentieth of the time goes into looking. */
const restFactor = 20;

/**
 * Writes down how much waits in each class and how fast sessions start, for positions and estimates. One dispatcher
 * looks a second, whichever comes first; the others find it done.
 */
export function createQueueBook(
  database: Database,
  monotonicMs: () => number,
): { look: () => Promise<void> } {
  let restUntil = 0;
  return {
    look: async () => {
      const from = monotonicMs();
      if (from < restUntil) return;
      await database.transaction(async (tx) => {
        const [free] = await tx.query<{ free: boolean }>(
          `SELECT pg_try_advisory_xact_lock(hashtextextended('queue-book', 0))
             AND NOT EXISTS (SELECT FROM queue_book WHERE looked_at > now() - interval '900 milliseconds') AS free`,
        );
        if (free?.free !== true) return;
        await tx.query(lookQuery, [paceWindow]);
      });
      restUntil = from + restFactor * (monotonicMs() - from);
    },
  };
}

// Classes in which nothing waits keep their row with no lanes: their pace is still known.
const lookQuery = `
WITH waiting AS (
  SELECT placement_class, lane, count(*)::int AS waiting FROM outbox GROUP BY placement_class, lane
), lanes AS (
  SELECT waiting.placement_class,
    jsonb_agg(jsonb_build_object('name', lane, 'waiting', waiting, 'weight', coalesce(queue_weight, 1))
      ORDER BY waiting DESC) AS lanes
  FROM waiting LEFT JOIN projects ON projects.id = (waiting.lane COLLATE "default")
  GROUP BY waiting.placement_class
), paces AS (
  SELECT sessions.placement_class,
    count(*) / greatest(10, extract(epoch FROM now() - min(attempts.created_at)))::float8 AS pace
  FROM attempts JOIN sessions ON sessions.id = attempts.session_id
  WHERE attempts.created_at > now() - $1 * interval '1 second' AND attempts.state <> 'refused'
  GROUP BY sessions.placement_class
)
INSERT INTO queue_book (placement_class, lanes, starts_per_second, looked_at)
SELECT placement_class, coalesce(lanes.lanes, '[]'), coalesce(paces.pace, 0), now()
FROM (SELECT placement_class FROM queue_book UNION SELECT placement_class FROM lanes
      UNION SELECT placement_class FROM paces) classes
LEFT JOIN lanes USING (placement_class) LEFT JOIN paces USING (placement_class)
ON CONFLICT (placement_class) DO UPDATE SET lanes = excluded.lanes, starts_per_second = excluded.starts_per_second,
  looked_at = excluded.looked_at`;
