import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { peopleIn } from '@lemniscate/shared/audit/person.ts';
import { toStored } from '@lemniscate/shared/audit/stored-entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditReader } from '../../application/ports/audit-reader.ts';
import type { PeopleMap } from '../../application/ports/people-map.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

const pageBytes = 4 * 1024 * 1024;

interface EntryRow extends Record<string, unknown> {
  readonly seq: number | string;
  readonly prev: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: Uint8Array;
  readonly type: string;
  readonly at: string | Date;
  /** Rows that the page would have without its bound in bytes. */
  readonly found: number | string;
}

interface ChainRow extends Record<string, unknown> {
  readonly chain: string;
  readonly head_seq: number | string;
  readonly head_digest: Uint8Array;
  readonly closed: boolean;
  readonly opened_at: string | Date;
}

/** Reads through the application's pool. */
export function createAuditReader(database: Transaction, people: PeopleMap): AuditReader {
  return {
    entries: async (chain, after, limit) => {
      // the head first: entries that come in between make the page longer, never the head ahead of the page
      const [head] = await database.query<ChainRow>('SELECT * FROM audit_chains WHERE chain = $1', [chain]);
      const rows = await database.query<EntryRow>(
        `SELECT seq, prev, digest, body, type, at, found FROM (
           SELECT *, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before, count(*) OVER () AS found FROM (
             SELECT * FROM audit_entries WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3
           ) page
         ) sized WHERE before < $4 ORDER BY seq`,
        [chain, after, limit + 1, pageBytes],
      );
      if (head === undefined && rows.length === 0)
        throw new CodedError('not_found', `There is no audit chain ${chain}.`, { chain });
      const shown = rows.slice(0, limit);
      const entries = shown.map((row) => toStored(entryOf(chain, row)));
      const known = await people.identities(database, peopleIn(shown.map(({ body }) => body)));
      const more = Number(rows[0]?.found ?? 0) > entries.length;
      return {
        entries,
        people: Object.fromEntries(known),
        nextAfter: more ? (entries.at(-1)?.seq ?? null) : null,
        head: headOf(head),
      };
    },
    chains: async (after, limit) => {
      const rows = await database.query<ChainRow>(
        'SELECT * FROM audit_chains WHERE chain > $1 ORDER BY chain LIMIT $2',
        [after, limit + 1],
      );
      const chains = rows.slice(0, limit).map((row) => ({
        chain: row.chain,
        openedAt: timeOf(row.opened_at),
        ...headOf(row),
      }));
      return { chains, nextAfter: rows.length > limit ? (chains.at(-1)?.chain ?? null) : null };
    },
  };
}

function entryOf(chain: string, row: EntryRow): Parameters<typeof toStored>[0] {
  return { ...row, chain, seq: Number(row.seq), at: timeOf(row.at) };
}

// A chain whose row is gone but whose entries stand: the head that nothing can reach.
function headOf(row: ChainRow | undefined): { seq: number; digest: string; closed: boolean } {
  if (row === undefined) return { seq: 0, digest: '0'.repeat(64), closed: false };
  return { seq: Number(row.head_seq), digest: toHex(row.head_digest), closed: row.closed };
}

function timeOf(value: string | Date): string {
  return new Date(value).toISOString();
}
