import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import { inBatches } from '../in-batches.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Whether an attempt is still the one that counts. */
export type LiveLook = (attempt: Held) => Promise<boolean>;

/** Looks at the attempts of all placements that ask in the same moment with one statement. */
export function createLiveLook(database: Transaction): LiveLook {
  return inBatches<Held, boolean>({ most: 64, lanes: 2 }, async (asked) => {
    const rows = await database.query<{ live: boolean }>(
      `SELECT EXISTS (
         SELECT FROM attempts a WHERE a.session_id = asked.session_id AND a.attempt = asked.attempt AND a.state = 'live'
       ) AS live
       FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS asked (session_id, attempt, place) ORDER BY place`,
      [asked.map(({ sessionId }) => sessionId), asked.map(({ attempt }) => attempt)],
    );
    return rows.map(({ live }) => live);
  });
}
