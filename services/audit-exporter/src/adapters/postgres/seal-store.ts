import type { SignedCheckpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import { logChain } from '@lemniscate/shared/audit/log-chain.ts';
import { tilePlace, tileWidth } from '@lemniscate/shared/audit/merkle-proof.ts';
import type { Frontier, TreeNode } from '@lemniscate/shared/audit/merkle.ts';
import type { SealRow, SealStore } from '../../application/ports/seal-store.ts';
import { placeInLogChain } from './log-chain-place.ts';
import type { Query } from './log-store.ts';

interface CheckpointRow {
  readonly number: string;
  readonly epoch: number;
  readonly size: string;
  readonly root: Uint8Array;
  readonly frontier: Uint8Array;
  readonly at: Date;
  readonly note: string | null;
}

/** The seal in Postgres. Every statement is a transaction of its own. */
export function createSealStore(query: Query, now: () => Date): SealStore {
  const oneText = async (text: string, values: readonly unknown[]): Promise<string | null> =>
    (await query<{ text: string }>(text, values))[0]?.text ?? null;

  return {
    origin: async () => (await oneText('SELECT origin AS text FROM audit_identity', [])) ?? '',
    keys: async () =>
      (await query<{ key: string }>('SELECT key FROM audit_log_keys ORDER BY place')).map(({ key }) => key),
    keyFor: (size) =>
      oneText(
        `SELECT key AS text FROM audit_log_keys k LEFT JOIN audit_log l ON l.chain = $2 AND l.seq = k.seq
         WHERE k.seq IS NULL OR l.index < $1 ORDER BY place DESC LIMIT 1`,
        [size, logChain],
      ),
    addFirstKey: async (key) => {
      await query('INSERT INTO audit_log_keys (place, key) VALUES (0, $1)', [key]);
    },
    rotateKey: async (key, draft) => {
      const { columns, lastSeq } = await placeInLogChain(query, draft, now());
      await query(
        `WITH appended AS (SELECT audit_append_to_log_chain($1, $2, $3, $4, $5, $6))
         INSERT INTO audit_log_keys (place, key, seq)
         SELECT (SELECT max(place) + 1 FROM audit_log_keys), $7, $8 FROM appended`,
        [...columns, key, lastSeq],
      );
    },
    append: async (draft) => {
      const { columns } = await placeInLogChain(query, draft, now());
      await query('SELECT audit_append_to_log_chain($1, $2, $3, $4, $5, $6)', columns);
    },
    lastOwnIndex: async () => {
      const [row] = await query<{ index: string | null }>(
        `SELECT index FROM audit_chains c LEFT JOIN audit_log l ON l.chain = c.chain AND l.seq = c.head_seq
         WHERE c.chain = $1`,
        [logChain],
      );
      return row?.index == null ? null : Number(row.index);
    },
    last: async () => {
      const rows = await query<CheckpointRow>('SELECT * FROM audit_checkpoints ORDER BY number DESC LIMIT 1');
      return rows[0] === undefined ? null : toSealRow(rows[0]);
    },
    lastSigned: async () => {
      const rows = await query<CheckpointRow>(
        'SELECT * FROM audit_checkpoints WHERE note IS NOT NULL ORDER BY number DESC LIMIT 1',
      );
      return rows[0] === undefined ? null : toSealRow(rows[0]);
    },
    digests: async (from, limit) => {
      const rows = await query<{ digest: Uint8Array }>(
        `SELECT digest FROM audit_log JOIN audit_entries USING (chain, seq)
         WHERE index >= $1 AND index < $2 ORDER BY index`,
        [from, from + limit],
      );
      return rows.map(({ digest }) => digest);
    },
    seal: async (row, nodes) => {
      const tiles = gatherTiles(nodes);
      await query(
        `WITH sealed AS (
           INSERT INTO audit_checkpoints (number, epoch, size, root, frontier, at)
           VALUES ($1, $2, $3, $4, $5, $6) RETURNING number
         )
         INSERT INTO audit_tiles (level, number, hashes)
         SELECT tile.* FROM sealed, unnest($7::smallint[], $8::bigint[], $9::bytea[]) AS tile (level, number, hashes)
         ON CONFLICT (level, number) DO UPDATE SET hashes = audit_tiles.hashes || excluded.hashes`,
        [
          row.number,
          row.epoch,
          row.frontier.size,
          row.root,
          Buffer.concat(row.frontier.hashes),
          row.at,
          tiles.map(({ level }) => level),
          tiles.map(({ number }) => number),
          tiles.map(({ hashes }) => Buffer.concat(hashes)),
        ],
      );
    },
    publish: async (number, note) => {
      await query('UPDATE audit_checkpoints SET note = $2 WHERE number = $1 AND note IS NULL', [
        number,
        note,
      ]);
    },
    published: async (from, size, limit) => {
      const rows = await query<CheckpointRow>(
        `SELECT * FROM audit_checkpoints WHERE number >= $1 AND size <= $2 AND note IS NOT NULL
         ORDER BY number LIMIT $3`,
        [from, size, limit],
      );
      const origin = (await oneText('SELECT origin AS text FROM audit_identity', [])) ?? '';
      return rows.map((row) => toSignedCheckpoint(origin, toSealRow(row)));
    },
    anchorCursor: async (sink) => {
      const [row] = await query<{ next_checkpoint: string }>(
        `INSERT INTO audit_sinks (name) VALUES ($1)
         ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING next_checkpoint`,
        [sink],
      );
      return Number(row?.next_checkpoint ?? 0);
    },
    advanceAnchor: async (sink, next) => {
      await query(
        'UPDATE audit_sinks SET next_checkpoint = $2, updated_at = now() WHERE name = $1 AND next_checkpoint < $2',
        [sink, next],
      );
    },
    setAside: async (sink, index, reason, draft) => {
      if (draft === null) {
        await query(
          'INSERT INTO audit_dead_letters (sink, index, reason) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
          [sink, index, reason],
        );
        return;
      }
      const { columns } = await placeInLogChain(query, draft, now());
      await query(
        `WITH aside AS (
           INSERT INTO audit_dead_letters (sink, index, reason) VALUES ($7, $8, $9) ON CONFLICT DO NOTHING RETURNING sink
         )
         SELECT audit_append_to_log_chain($1, $2, $3, $4, $5, $6) FROM aside`,
        [...columns, sink, index, reason],
      );
    },
  };
}

interface TilePart {
  readonly level: number;
  readonly number: number;
  readonly hashes: Uint8Array[];
}

/** New hashes by tile. Only every eighth level is kept; what lies between is computed from it. */
function gatherTiles(nodes: readonly { readonly node: TreeNode; readonly hash: Uint8Array }[]): TilePart[] {
  const tiles = new Map<string, TilePart>();
  for (const { node, hash } of nodes) {
    if (node.level % Math.log2(tileWidth) !== 0) continue;
    const { level, number } = tilePlace(node);
    const key = `${level}/${number}`;
    const tile = tiles.get(key) ?? { level, number, hashes: [] };
    tile.hashes.push(hash);
    tiles.set(key, tile);
  }
  return [...tiles.values()];
}

function toSealRow(row: CheckpointRow): SealRow {
  const hashes = Array.from({ length: row.frontier.length / 32 }, (_, place) =>
    row.frontier.subarray(place * 32, place * 32 + 32),
  );
  const frontier: Frontier = { size: Number(row.size), hashes };
  const { epoch, root, note } = row;
  return { number: Number(row.number), epoch, root, frontier, at: row.at.toISOString(), note };
}

function toSignedCheckpoint(origin: string, row: SealRow): SignedCheckpoint {
  const { number, epoch, root, frontier, at, note } = row;
  return {
    origin,
    size: frontier.size,
    root,
    number,
    epoch,
    at,
    note: note ?? '',
    frontier: frontier.hashes,
  };
}
