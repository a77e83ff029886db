import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import { inBatches } from '../in-batches.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Whether an attempt is still the one that counts. */
export type LiveLook = (attempt: Held) => Promise<boolean>;

/** Looks at the attempts of all placements that ask in the same moment with one statement. */
export function createLiveLook(database: Transaction): LiveLook {
  return inBatches<Held, boolean>({ most: 64, lanes: 2, patienceMs: 25 }, async (asked) => {
    const rows = await database.query<{ live: boolean }>(
      // As JSON and by key, one answer each: such a plan costs the same whatever is asked, so it is kept.
      `SELECT coalesce((
         SELECT state = 'live' FROM attempts WHERE session_id = asked ->> 0 AND attempt = (asked ->> 1)::int
       ), false) AS live
       FROM json_array_elements($1::json) WITH ORDINALITY AS given (asked, place) ORDER BY place`,
      [JSON.stringify(asked.map(({ sessionId, attempt }) => [sessionId, attempt]))],
    );
    return rows.map(({ live }) => live);
  });
}
