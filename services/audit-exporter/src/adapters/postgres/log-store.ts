import type { Backlog, LogStore } from '../../application/ports/log-store.ts';

/** Runs a statement on the exporter's one connection. */
export type Query = <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

interface EntryRow {
  readonly index: string;
  readonly chain: string;
  readonly seq: string;
  readonly prev: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: Uint8Array;
  readonly type: string;
  readonly at: Date;
}

/** The log in Postgres. Every statement is a transaction of its own. */
export function createLogStore(query: Query): LogStore {
  return {
    order: async (limit) => {
      // Index = size of the log so far. A chain's ids ascend in the order of its commits, so none overtakes another.
      const rows = await query(
        `WITH batch AS (
           DELETE FROM audit_pending WHERE id IN (SELECT id FROM audit_pending ORDER BY id LIMIT $1)
           RETURNING id, chain, seq
         )
         INSERT INTO audit_log (index, chain, seq)
         SELECT (SELECT coalesce(max(index), -1) FROM audit_log) + row_number() OVER (ORDER BY id), chain, seq FROM batch
         RETURNING index`,
        [limit],
      );
      return rows.length;
    },
    read: async (from, limit, maxBytes) => {
      const rows = await query<EntryRow>(
        `SELECT index, chain, seq, prev, digest, body, type, at FROM (
           SELECT *, sum(length(body)) OVER (ORDER BY index) - length(body) AS before FROM (
             SELECT * FROM audit_log JOIN audit_entries USING (chain, seq) WHERE index >= $1 ORDER BY index LIMIT $2
           ) page
         ) sized WHERE before < $3 ORDER BY index`,
        [from, limit, maxBytes],
      );
      return rows.map(({ index, ...row }) => ({
        index: Number(index),
        entry: { ...row, seq: Number(row.seq), at: row.at.toISOString() },
      }));
    },
    traces: async (sessionIds) => {
      const rows = await query<{ id: string; trace_context: string }>(
        'SELECT id, trace_context FROM sessions WHERE id = ANY ($1) AND trace_context IS NOT NULL',
        [sessionIds],
      );
      return new Map(rows.map(({ id, trace_context: trace }) => [id, trace]));
    },
    identities: async (pseudonyms) => {
      const rows = await query<{ pseudonym: string; identity: string }>(
        'SELECT pseudonym, identity FROM audit_people WHERE pseudonym = ANY ($1) AND identity IS NOT NULL',
        [pseudonyms],
      );
      return new Map(rows.map(({ pseudonym, identity }) => [pseudonym, identity]));
    },
    hasCursor: async (sink) => (await query('SELECT FROM audit_sinks WHERE name = $1', [sink])).length > 0,
    cursor: async (sink, start = 0) => {
      const [row] = await query<{ next_index: string }>(
        `INSERT INTO audit_sinks (name, next_index)
         SELECT $1, coalesce($2::bigint, (SELECT max(index) + 1 FROM audit_log), 0)
         ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING next_index`,
        [sink, start === 'now' ? null : start],
      );
      return Number(row?.next_index ?? 0);
    },
    advance: async (sink, next) => {
      await query(
        'UPDATE audit_sinks SET next_index = $2, updated_at = now() WHERE name = $1 AND next_index < $2',
        [sink, next],
      );
    },
    openResend: async (sink) => {
      const [row] = await query<{ id: string; next: string; to: string }>(
        `SELECT id, next_index AS next, to_index AS to FROM audit_resends
         WHERE sink = $1 AND done_at IS NULL ORDER BY requested_at, id LIMIT 1`,
        [sink],
      );
      return row === undefined ? null : { id: row.id, next: Number(row.next), to: Number(row.to) };
    },
    advanceResend: async (id, next) => {
      await query('UPDATE audit_resends SET next_index = $2 WHERE id = $1 AND next_index < $2', [id, next]);
    },
    closeResend: async (id, refused) => {
      await query(
        'UPDATE audit_resends SET done_at = now(), refused = $2 WHERE id = $1 AND done_at IS NULL',
        [id, refused],
      );
    },
    backlog: (from) => readBacklog(query, from),
    setAside: async () => {
      const rows = await query<{ sink: string; count: string }>(
        'SELECT sink, count(*) AS count FROM audit_dead_letters GROUP BY sink',
      );
      return new Map(rows.map(({ sink, count }) => [sink, Number(count)]));
    },
  };
}

async function readBacklog(query: Query, from: readonly number[]): Promise<Backlog> {
  const [counts] = await query<{ pending: string; size: string }>(
    `SELECT (SELECT count(*) FROM audit_pending) AS pending, (SELECT coalesce(max(index) + 1, 0) FROM audit_log) AS size`,
  );
  const rows = await query<{ at: Date | null }>(
    `SELECT entry.at FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (index, place)
     LEFT JOIN audit_log log ON log.index = asked.index
     LEFT JOIN audit_entries entry ON entry.chain = log.chain AND entry.seq = log.seq ORDER BY place`,
    [from],
  );
  return {
    pending: Number(counts?.pending ?? 0),
    size: Number(counts?.size ?? 0),
    at: rows.map(({ at }) => at?.toISOString() ?? null),
  };
}
