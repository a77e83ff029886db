import type { Exporters } from '@lemniscate/shared/audit/search-api.ts';
import { peopleIn } from '@lemniscate/shared/audit/person.ts';
import { toStored } from '@lemniscate/shared/audit/stored-entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditSearcher } from '../../application/ports/audit-search.ts';
import type { PeopleMap } from '../../application/ports/people-map.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

interface EntryRow extends Record<string, unknown> {
  readonly chain: string;
  readonly seq: number;
  readonly prev: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: Uint8Array;
  readonly type: string;
  readonly at: string;
}

type SinkRow = Exporters['sinks'][number] & Record<string, unknown>;

/** Searches through the application's pool. */
export function createAuditSearch(database: Transaction, people: PeopleMap): AuditSearcher {
  return {
    search: async (filter, before, limit) => {
      const cursor = before === null ? null : readCursor(before);
      const rows = await database.query<EntryRow>(
        `SELECT chain, seq, prev, digest, body, type, at FROM audit_entries
         WHERE at >= $1 AND at < $2 AND (cardinality($3::text[]) = 0 OR type = ANY($3))
           AND ($4::text IS NULL OR chain = $4)
           AND ($5::text IS NULL OR chain LIKE '%' || $5 || '%' OR convert_from(body, 'UTF8') ILIKE '%' || $5 || '%'
             OR EXISTS (SELECT FROM audit_people p WHERE p.identity ILIKE '%' || $5 || '%'
               AND convert_from(body, 'UTF8') LIKE '%' || p.pseudonym || '%'))
           AND ($6::timestamptz IS NULL OR (at, chain, seq) < ($6, $7, $8))
         ORDER BY at DESC, chain DESC, seq DESC LIMIT $9`,
        [
          filter.from,
          filter.to,
          filter.types,
          filter.chain,
          filter.text?.replaceAll(/[\\%_]/g, '\\$&') ?? null,
          cursor?.at ?? null,
          cursor?.chain ?? null,
          cursor?.seq ?? null,
          limit + 1,
        ],
      );
      const shown = rows.slice(0, limit);
      const entries = shown.map((row) => toStored(row));
      const known = await people.identities(database, peopleIn(shown.map(({ body }) => body)));
      const last = entries.at(-1);
      return {
        entries,
        people: Object.fromEntries(known),
        nextBefore: rows.length > limit && last !== undefined ? cursorOf(last) : null,
      };
    },
    exporters: async () => {
      const [[log], [checkpoint], sinks] = await Promise.all([
        database.query<{ size: number; at: string | null }>(
          `SELECT coalesce((SELECT index + 1 FROM audit_log ORDER BY index DESC LIMIT 1), 0)::bigint AS size,
             (SELECT e.at FROM audit_log l JOIN audit_entries e USING (chain, seq) ORDER BY l.index DESC LIMIT 1) AS at`,
        ),
        database.query<{ number: number; size: number; at: string }>(
          'SELECT number, size, at FROM audit_checkpoints WHERE note IS NOT NULL ORDER BY number DESC LIMIT 1',
        ),
        database.query<SinkRow>(
          `WITH log AS (SELECT coalesce(max(index) + 1, 0) AS size FROM audit_log)
           SELECT s.name, s.next_index AS delivered, greatest(log.size - s.next_index, 0) AS behind,
             (SELECT extract(epoch FROM now() - e.at)::float8 FROM audit_log l JOIN audit_entries e USING (chain, seq)
              WHERE l.index = s.next_index) AS "behindSeconds", s.next_checkpoint AS checkpoint,
             (SELECT count(*)::int FROM audit_dead_letters d WHERE d.sink = s.name) AS "deadLetters",
             s.updated_at AS "updatedAt"
           FROM audit_sinks s, log ORDER BY s.name`,
        ),
      ]);
      return {
        logSize: log?.size ?? 0,
        lastEntryAt: log?.at ?? null,
        lastCheckpoint: checkpoint ?? null,
        sinks: [...sinks],
      };
    },
  };
}

function cursorOf({ at, chain, seq }: { at: string; chain: string; seq: number }): string {
  return Buffer.from(JSON.stringify([at, chain, seq])).toString('base64url');
}

function readCursor(cursor: string): { at: string; chain: string; seq: number } {
  try {
    const [at, chain, seq] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    if (
      typeof at === 'string' &&
      !Number.isNaN(Date.parse(at)) &&
      typeof chain === 'string' &&
      Number.isSafeInteger(seq)
    )
      return { at, chain, seq: seq as number };
  } catch {
    // told below, together with what parses and is none of ours
  }
  throw new CodedError('request_invalid', 'The cursor is not one of ours. Start without one.');
}
