import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import {
  createTreeHasher,
  emptyRoot,
  frontierRoot,
  leafHash,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from './merkle.ts';
import { consistencyRanges, inclusionRanges, rangeHash, readTile, tilePlace } from './merkle-proof.ts';
import type { LeafRange } from './merkle-proof.ts';
import type { TreeNode } from './merkle.ts';

const leaf = (place: number): Uint8Array => leafHash(hash('sha256', `entry ${place}`, 'buffer'));

/** RFC 9162 section 2.1.1 as it is written, recursively and slowly: the oracle. */
function slowRoot(from: number, to: number): Uint8Array {
  if (to === from) return emptyRoot;
  if (to - from === 1) return leaf(from);
  let power = 1;
  while (power * 2 < to - from) power *= 2;
  return nodeHash(slowRoot(from, from + power), slowRoot(from + power, to));
}

const proof = (ranges: readonly LeafRange[]): Uint8Array[] =>
  ranges.map(({ start, end }) => slowRoot(start, end));
const tree = (size: number) => ({ size, root: slowRoot(0, size) });
const sizes = Array.from({ length: 40 }, (_, size) => size);
const trees = sizes.map(tree);
const treeOf = (size: number) => trees[size] ?? assert.fail();

test('known roots: nothing, and the eight leaves that Certificate Transparency publishes', () => {
  assert.equal(
    Buffer.from(emptyRoot).toString('hex'),
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  );
  const published = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const hasher = createTreeHasher();
  for (const hex of published)
    hasher.push(hash('sha256', Buffer.concat([Buffer.of(0), Buffer.from(hex, 'hex')]), 'buffer'));
  assert.equal(
    Buffer.from(hasher.root()).toString('hex'),
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  );
});

test('a tree that grows has the root of the definition, and its frontier stands for it', () => {
  const hasher = createTreeHasher();
  for (const size of sizes) {
    assert.deepEqual(hasher.root(), treeOf(size).root);
    assert.deepEqual(frontierRoot(hasher.frontier()), treeOf(size).root);
    const resumed = createTreeHasher(hasher.frontier());
    resumed.push(leaf(size));
    hasher.push(leaf(size));
    assert.deepEqual(resumed.root(), hasher.root());
  }
  assert.throws(() => createTreeHasher({ size: 3, hashes: [leaf(0)] }), RangeError);
});

test('every inclusion proof holds, and no other leaf, place, size, root or path does', () => {
  for (const size of sizes.slice(1))
    for (let index = 0; index < size; index += 1) {
      const path = proof(inclusionRanges(index, size));
      const whole = treeOf(size);
      assert.ok(verifyInclusion(leaf(index), index, whole, path), `${index} of ${size}`);
      assert.ok(!verifyInclusion(leaf(index + 1), index, whole, path));
      if (size > 1) assert.ok(!verifyInclusion(leaf(index), (index + 1) % size, whole, path));
      assert.ok(!verifyInclusion(leaf(index), index, { size, root: leaf(99) }, path));
      assert.ok(!verifyInclusion(leaf(index), index, whole, [...path, leaf(0)]));
      assert.ok(!verifyInclusion(leaf(index), index, whole, [...path, path[0] ?? leaf(0)]));
      for (let gone = 0; gone < path.length; gone += 1) {
        assert.ok(!verifyInclusion(leaf(index), index, whole, path.toSpliced(gone, 1)));
        assert.ok(!verifyInclusion(leaf(index), index, whole, path.with(gone, leaf(77))));
      }
    }
});

test('a node cannot pass for a leaf', () => {
  const inner = nodeHash(leaf(0), leaf(1));
  assert.ok(
    !verifyInclusion(
      leafHash(Buffer.concat([leaf(0), leaf(1)])),
      0,
      { size: 2, root: nodeHash(inner, leaf(2)) },
      [leaf(2)],
    ),
  );
  assert.notDeepEqual(leafHash(Buffer.concat([leaf(0), leaf(1)])), inner);
});

test('every consistency proof holds, and no forged one: other root, order, cut, grown, or a step left out', () => {
  for (const to of sizes)
    for (let from = 0; from <= to; from += 1) {
      const path = proof(consistencyRanges(from, to));
      const [earlier, later] = [treeOf(from), treeOf(to)];
      assert.ok(verifyConsistency(earlier, later, path), `${from} to ${to}`);
      assert.ok(!verifyConsistency(earlier, later, [...path, leaf(5)]));
      // an empty tree is the beginning of every tree, so nothing binds the later root
      if (from === 0) continue;
      assert.ok(!verifyConsistency({ ...earlier, root: leaf(99) }, later, path));
      assert.ok(!verifyConsistency(earlier, { ...later, root: leaf(99) }, path));
      if (from < to) assert.ok(!verifyConsistency(later, earlier, path));
      if (path.length > 1) assert.ok(!verifyConsistency(earlier, later, path.toReversed()));
      for (let gone = 0; gone < path.length; gone += 1) {
        assert.ok(
          !verifyConsistency(earlier, later, path.toSpliced(gone, 1)),
          `${from} to ${to} without ${gone}`,
        );
        assert.ok(!verifyConsistency(earlier, later, path.with(gone, leaf(77))));
      }
    }
});

test('a proof read from tiles is the proof of the definition', () => {
  const size = 2_000;
  const tiles = new Map<string, Uint8Array>();
  const hasher = createTreeHasher(undefined, (node, hash) => {
    if (node.level % 8 !== 0) return;
    const { level, number } = tilePlace(node);
    const key = `${level}/${number}`;
    tiles.set(key, Buffer.concat([tiles.get(key) ?? new Uint8Array(), hash]));
  });
  for (let place = 0; place < size; place += 1) hasher.push(leaf(place));
  const read = (node: TreeNode): Uint8Array => {
    const place = tilePlace(node);
    return readTile(tiles.get(`${place.level}/${place.number}`) ?? assert.fail(), place);
  };
  const whole = { size, root: hasher.root() };
  for (const index of [0, 1, 255, 256, 257, 1_023, 1_024, 1_791, 1_792, 1_999]) {
    const path = inclusionRanges(index, size).map((range) => rangeHash(range, read));
    assert.ok(verifyInclusion(leaf(index), index, whole, path), String(index));
  }
  for (const from of [1, 256, 300, 512, 1_337, 1_999]) {
    const path = consistencyRanges(from, size).map((range) => rangeHash(range, read));
    assert.ok(verifyConsistency(tree(from), whole, path), String(from));
  }
  assert.throws(() => readTile(new Uint8Array(32), tilePlace({ level: 1, index: 0 })), RangeError);
});
