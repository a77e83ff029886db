import { randomBytes } from 'node:crypto';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { PeopleMap } from '../../application/ports/people-map.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

/** How long a pseudonym serves without a look: an erasure by another dispatcher is known everywhere after it. */
const freshMs = 10_000;
const mostKept = 10_000;

interface PersonRow extends Record<string, unknown> {
  readonly pseudonym: string;
  readonly identity: string;
  /** The row is other transactions' to see. */
  readonly committed: boolean;
}

/** The map in Postgres, with the people of the last seconds at hand: an append by one of them asks nobody. */
export function createPeopleMap(clock: Clock): PeopleMap {
  const kept = new Map<string, { readonly pseudonym: string; readonly until: number }>();

  const keep = ({ identity, pseudonym, committed }: PersonRow): void => {
    // a row of a transaction that may still be rolled back is nobody's pseudonym yet
    if (!committed) return;
    if (kept.size >= mostKept) kept.clear();
    kept.set(identity, { pseudonym, until: clock.monotonicMs() + freshMs });
  };
  const atHand = (identity: string): string | null => {
    const known = kept.get(identity);
    return known !== undefined && known.until > clock.monotonicMs() ? known.pseudonym : null;
  };

  return {
    pseudonyms: async (tx, identities) => {
      const found = new Map<string, string>();
      for (const identity of identities) {
        const pseudonym = atHand(identity);
        if (pseudonym !== null) found.set(identity, pseudonym);
      }
      const missing = [...new Set(identities)].filter((identity) => !found.has(identity)).toSorted();
      if (missing.length === 0) return found;
      const there = await readPeople(tx, missing);
      const made = missing.filter((identity) => !there.some((row) => row.identity === identity));
      const rows = made.length === 0 ? there : await addPeople(tx, missing, made);
      for (const row of rows) {
        found.set(row.identity, row.pseudonym);
        keep(row);
      }
      return found;
    },
    identities: async (tx, pseudonyms) => {
      if (pseudonyms.length === 0) return new Map();
      const rows = await tx.query<{ pseudonym: string; identity: string | null }>(
        'SELECT pseudonym, identity FROM audit_people WHERE pseudonym = ANY ($1)',
        [pseudonyms],
      );
      return new Map(rows.map(({ pseudonym, identity }) => [pseudonym, identity]));
    },
    erase: async (tx, identity) => {
      kept.delete(identity);
      const [row] = await tx.query<{ pseudonym: string }>(
        'UPDATE audit_people SET identity = NULL, erased_at = now() WHERE identity = $1 RETURNING pseudonym',
        [identity],
      );
      return row?.pseudonym ?? null;
    },
  };
}

function readPeople(tx: Transaction, identities: readonly string[]): Promise<PersonRow[]> {
  return tx.query<PersonRow>(
    `SELECT pseudonym, identity, xmin <> coalesce(pg_current_xact_id_if_assigned()::xid, '0'::xid) AS committed
     FROM audit_people WHERE identity = ANY ($1)`,
    [identities],
  );
}

/** In one order for all, so that two transactions that bring the same people do not wait for each other in a ring. */
async function addPeople(
  tx: Transaction,
  wanted: readonly string[],
  made: readonly string[],
): Promise<PersonRow[]> {
  await tx.query(
    `INSERT INTO audit_people (pseudonym, identity) SELECT * FROM unnest($1::text[], $2::text[])
     ON CONFLICT (identity) DO NOTHING`,
    [made.map(() => `person:${randomBytes(12).toString('hex')}`), made],
  );
  return readPeople(tx, wanted);
}
