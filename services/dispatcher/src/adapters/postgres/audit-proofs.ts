import { toHex } from '@lemniscate/shared/audit/digest.ts';
import {
  consistencyRanges,
  inclusionRanges,
  nodesOf,
  rangeHash,
  readTile,
  tilePlace,
} from '@lemniscate/shared/audit/merkle-proof.ts';
import type { LeafRange } from '@lemniscate/shared/audit/merkle-proof.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditProofs } from '../../application/ports/audit-proofs.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

interface TileRow extends Record<string, unknown> {
  readonly level: number;
  readonly number: number | string;
  readonly hashes: Uint8Array;
}

interface CheckpointRow extends Record<string, unknown> {
  readonly number: number | string;
  readonly size: number | string;
  readonly note: string;
  readonly frontier: Uint8Array;
}

/** Reads through the application's pool. A proof reads a few tiles, however long the log is. */
export function createAuditProofs(database: Transaction): AuditProofs {
  const prove = async (ranges: readonly LeafRange[], size: number): Promise<string[]> => {
    const tiles = await readTiles(database, ranges);
    return ranges.map((range) =>
      toHex(
        rangeHash(range, (node) => {
          const place = tilePlace(node);
          const hashes = tiles.get(`${place.level}/${place.number}`);
          if (hashes === undefined || hashes.length < (place.first + place.count) * 32) throw unsealed(size);
          return readTile(hashes, place);
        }),
      ),
    );
  };

  return {
    checkpoints: async (after, limit) => {
      const rows = await database.query<CheckpointRow>(
        'SELECT * FROM audit_checkpoints WHERE number > $1 AND note IS NOT NULL ORDER BY number LIMIT $2',
        [after, limit + 1],
      );
      const [last] = await database.query<{ last: number | string | null }>(
        'SELECT max(number) AS last FROM audit_checkpoints WHERE note IS NOT NULL',
      );
      const checkpoints = rows.slice(0, limit).map(({ number, size, note, frontier }) => ({
        number: Number(number),
        size: Number(size),
        note,
        frontier: toHex(frontier).match(/.{64}/g) ?? [],
      }));
      return {
        checkpoints,
        nextAfter: rows.length > limit ? (checkpoints.at(-1)?.number ?? null) : null,
        last: last?.last == null ? null : Number(last.last),
      };
    },
    inclusion: async (chain, seq, size) => {
      const [row] = await database.query<{ index: number | string }>(
        'SELECT index FROM audit_log WHERE chain = $1 AND seq = $2',
        [chain, seq],
      );
      const index = Number(row?.index ?? Infinity);
      if (index >= size)
        throw new CodedError(
          'not_found',
          `Entry ${seq} of ${chain} is not among the first ${size} entries of the log.`,
        );
      return { index, path: await prove(inclusionRanges(index, size), size) };
    },
    consistency: async (from, to) => {
      if (from > to) throw new CodedError('request_invalid', `from (${from}) must not be above to (${to}).`);
      return { path: await prove(consistencyRanges(from, to), to) };
    },
  };
}

/** The tiles that some ranges are computed from, in one round trip. */
async function readTiles(
  database: Transaction,
  ranges: readonly LeafRange[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const places = ranges.flatMap(nodesOf).map(tilePlace);
  const wanted = new Map(places.map((place) => [`${place.level}/${place.number}`, place]));
  const tiles = [...wanted.values()];
  const rows = await database.query<TileRow>(
    `SELECT level, number, hashes FROM audit_tiles JOIN unnest($1::smallint[], $2::bigint[]) AS asked (level, number)
     USING (level, number)`,
    [tiles.map(({ level }) => level), tiles.map(({ number }) => number)],
  );
  return new Map(rows.map(({ level, number, hashes }) => [`${level}/${number}`, hashes]));
}

const unsealed = (size: number): CodedError =>
  new CodedError(
    'not_found',
    `The log is not sealed up to ${size} entries. Ask for the size of a checkpoint.`,
  );
