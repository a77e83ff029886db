import type { ClassTurns } from '@lemniscate/shared/queue/fair-turns.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Keeps whose turn is next, in each class that was served and on the pool's clock. Sent without waiting: the statements
 * travel with the commit.
 * @param before where the clock stood
 */
export async function storeTurns(
  tx: Transaction,
  pool: string,
  before: number,
  { round, classes }: { readonly round: number; readonly classes: readonly ClassTurns[] },
): Promise<void> {
  const deficits = classes.flatMap((each) =>
    [...each.deficits].map(([lane, deficit]) => ({ placementClass: each.placementClass, lane, deficit })),
  );
  const clock = `INSERT INTO queue_clocks (pool, round) VALUES ($1, $2)
    ON CONFLICT (pool) DO UPDATE SET round = excluded.round WHERE queue_clocks.round < excluded.round`;
  await Promise.all([
    // It stands still while one class waits alone.
    round > before ? tx.query(clock, [pool, round]) : null,
    tx.query(
      `INSERT INTO queue_cursors (placement_class, lane, granted, due)
       SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[], $4::float8[])
       ON CONFLICT (placement_class) DO UPDATE SET lane = excluded.lane, granted = excluded.granted, due = excluded.due`,
      [
        classes.map(({ placementClass }) => placementClass),
        classes.map(({ cursor }) => cursor.lane),
        classes.map(({ cursor }) => cursor.granted),
        classes.map(({ due }) => due),
      ],
    ),
    tx.query(
      `INSERT INTO queue_deficits (placement_class, lane, deficit)
       SELECT * FROM unnest($1::text[], $2::text[], $3::float8[])
       ON CONFLICT (placement_class, lane) DO UPDATE SET deficit = excluded.deficit
       WHERE queue_deficits.deficit IS DISTINCT FROM excluded.deficit`,
      [
        deficits.map(({ placementClass }) => placementClass),
        deficits.map(({ lane }) => lane),
        deficits.map(({ deficit }) => deficit),
      ],
    ),
  ]);
}
