import { foldRight, nodeHash } from './merkle.ts';
import type { TreeNode } from './merkle.ts';

/** Leaves from `start` to before `end`; a proof is the hashes of such ranges. */
export interface LeafRange {
  readonly start: number;
  readonly end: number;
}

/** Hashes of a tile: 8 levels of the tree, as in C2SP's tlog-tiles. */
export const tileWidth = 256;
const tileHeight = 8;

/** Where a tile holds a node's hash, or the hashes that make it. */
export interface TilePlace {
  /** Level 0 holds leaves, level 1 the roots of full tiles of level 0, and so on. */
  readonly level: number;
  readonly number: number;
  readonly first: number;
  readonly count: number;
}

/** What an inclusion proof of one entry is made of, lowest first (RFC 9162 section 2.1.3.1). */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start);
    if (index < middle) {
      ranges.unshift({ start: middle, end });
      end = middle;
    } else {
      ranges.unshift({ start, end: middle });
      start = middle;
    }
  }
  return ranges;
}

/** What a proof is made of that a tree of `to` leaves begins with one of `from`, lowest first (section 2.1.4.1). */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  if (from === 0 || from === to) return [];
  const ranges: LeafRange[] = [];
  let [start, end] = [0, to];
  while (end !== from) {
    const middle = start + largestPowerBelow(end - start);
    if (from <= middle) {
      ranges.unshift({ start: middle, end });
      end = middle;
    } else {
      ranges.unshift({ start, end: middle });
      start = middle;
    }
  }
  // the verifier has the earlier root itself where it is one perfect subtree
  return start === 0 ? ranges : [{ start, end }, ...ranges];
}

/** The perfect subtrees that make up a range of a proof, largest first. */
export function nodesOf({ start, end }: LeafRange): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let from = start; from < end;) {
    let [level, width] = [0, 1];
    while (from % (width * 2) === 0 && from + width * 2 <= end) [level, width] = [level + 1, width * 2];
    nodes.push({ level, index: from / width });
    from += width;
  }
  return nodes;
}

/** The hash of a range from the hashes of its nodes. */
export const rangeHash = (range: LeafRange, read: (node: TreeNode) => Uint8Array): Uint8Array =>
  foldRight(nodesOf(range).map(read));

/** The tile that a node is read from. */
export function tilePlace({ level, index }: TreeNode): TilePlace {
  const count = 2 ** (level % tileHeight);
  const first = index * count;
  return {
    level: Math.floor(level / tileHeight),
    number: Math.floor(first / tileWidth),
    first: first % tileWidth,
    count,
  };
}

/**
 * A node's hash out of its tile.
 * @throws RangeError when the tile does not reach that far
 */
export function readTile(hashes: Uint8Array, { level, number, first, count }: TilePlace): Uint8Array {
  if (hashes.length < (first + count) * 32)
    throw new RangeError(`Tile ${level}/${number} ends before hash ${first + count}.`);
  const at = (place: number): Uint8Array => hashes.subarray(place * 32, place * 32 + 32);
  let row = Array.from({ length: count }, (_, place) => at(first + place));
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_, place) =>
      nodeHash(row[2 * place] ?? new Uint8Array(), row[2 * place + 1] ?? new Uint8Array()),
    );
  return row[0] ?? new Uint8Array();
}

function largestPowerBelow(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}
