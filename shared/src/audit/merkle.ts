import { hash } from 'node:crypto';
import { sameBytes, sha256 } from './digest.ts';

// The Merkle tree of RFC 9162 section 2.1: leaves behind 0x00, nodes behind 0x01, so that no leaf passes for a node.
// Sizes go past 2^32, so all arithmetic is on numbers, never on bits.

// Written anew for each hash: a proof computes hundreds, a verifier one or two an entry.
const leafBytes = Buffer.alloc(1 + 32);
const nodeBytes = Buffer.alloc(1 + 2 * 32, 1);

/** The hash of a leaf. An entry's leaf is its digest, which binds chain, place and bytes. */
export function leafHash(digest: Uint8Array): Uint8Array {
  if (digest.length !== 32) return sha256(Buffer.concat([Buffer.of(0), digest]));
  leafBytes.set(digest, 1);
  return sha256(leafBytes);
}

/** The hash of two subtrees. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== 32 || right.length !== 32) return sha256(Buffer.concat([Buffer.of(1), left, right]));
  nodeBytes.set(left, 1);
  nodeBytes.set(right, 33);
  return sha256(nodeBytes);
}

/** The root of no entries at all: the hash of nothing (RFC 9162 section 2.1.1). */
export const emptyRoot: Uint8Array = hash('sha256', new Uint8Array(), 'buffer');

/**
 * A tree's state in as many hashes as its size has one-bits: the roots of its perfect subtrees, largest first. It
 * proves itself: `frontierRoot` of a false one is another root.
 */
export interface Frontier {
  readonly size: number;
  readonly hashes: readonly Uint8Array[];
}
export const emptyFrontier: Frontier = { size: 0, hashes: [] };

/** A perfect subtree: the leaves from `index * 2^level` on, `2^level` of them. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** Grows a tree leaf by leaf in memory of its height. */
export interface TreeHasher {
  /** @param leaf from `leafHash` */
  push(leaf: Uint8Array): void;
  size(): number;
  root(): Uint8Array;
  frontier(): Frontier;
}

/**
 * A hasher that goes on from a frontier.
 * @param completed told of every perfect subtree as it is completed, leaves included, lower ones first
 * @throws RangeError when the frontier has another number of hashes than its size asks for
 */
export function createTreeHasher(
  from: Frontier = emptyFrontier,
  completed: (node: TreeNode, hash: Uint8Array) => void = () => undefined,
): TreeHasher {
  if (oneBits(from.size) !== from.hashes.length)
    throw new RangeError(`A tree of ${from.size} leaves has ${oneBits(from.size)} frontier hashes.`);
  const hashes = [...from.hashes];
  let size = from.size;
  return {
    push: (leaf) => {
      let node = { level: 0, index: size, hash: leaf };
      completed(node, leaf);
      while (node.index % 2 === 1) {
        const left = hashes.pop();
        if (left === undefined) throw new RangeError('The frontier has too few hashes.');
        node = { level: node.level + 1, index: (node.index - 1) / 2, hash: nodeHash(left, node.hash) };
        completed(node, node.hash);
      }
      hashes.push(node.hash);
      size += 1;
    },
    size: () => size,
    root: () => foldRight(hashes),
    frontier: () => ({ size, hashes: [...hashes] }),
  };
}

/** The root that a frontier stands for. */
export const frontierRoot = ({ hashes }: Frontier): Uint8Array => foldRight(hashes);

/** Joins neighbours from the right, as the tree's right edge does. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array {
  const last = hashes.at(-1);
  if (last === undefined) return emptyRoot;
  return hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

function oneBits(size: number): number {
  let bits = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2;
  return bits;
}

/**
 * Whether a leaf is in a tree (RFC 9162 section 2.1.3.2). Every hash of the path must be used, and none be missing.
 */
export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  tree: { readonly size: number; readonly root: Uint8Array },
  path: readonly Uint8Array[],
): boolean {
  if (!isPlace(index) || !isPlace(tree.size) || index >= tree.size) return false;
  let [fn, sn, hash] = [index, tree.size - 1, leaf];
  for (const sibling of path) {
    if (sn === 0 || sibling.length !== 32) return false;
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else hash = nodeHash(hash, sibling);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && sameBytes(hash, tree.root);
}

/** Whether a later tree holds the earlier one unchanged at its beginning (RFC 9162 section 2.1.4.2). */
export function verifyConsistency(
  earlier: { readonly size: number; readonly root: Uint8Array },
  later: { readonly size: number; readonly root: Uint8Array },
  proof: readonly Uint8Array[],
): boolean {
  if (!isPlace(earlier.size) || !isPlace(later.size) || earlier.size > later.size) return false;
  if (earlier.size === later.size) return proof.length === 0 && sameBytes(earlier.root, later.root);
  if (earlier.size === 0) return proof.length === 0 && sameBytes(earlier.root, emptyRoot);
  const path = isPowerOfTwo(earlier.size) ? [earlier.root, ...proof] : [...proof];
  const [first, ...rest] = path;
  if (first === undefined || path.some(({ length }) => length !== 32)) return false;
  let [fn, sn] = [earlier.size - 1, later.size - 1];
  while (fn % 2 === 1) [fn, sn] = [(fn - 1) / 2, Math.floor(sn / 2)];
  let [from, to] = [first, first];
  for (const hash of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [from, to] = [nodeHash(hash, from), nodeHash(hash, to)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else to = nodeHash(to, hash);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && sameBytes(from, earlier.root) && sameBytes(to, later.root);
}

const isPlace = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isPowerOfTwo = (size: number): boolean => oneBits(size) === 1;
