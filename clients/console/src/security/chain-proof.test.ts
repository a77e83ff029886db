import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryDigest as sharedDigest } from '@lemniscate/shared/audit/digest.ts';
import { createTreeHasher, leafHash, verifyInclusion } from '@lemniscate/shared/audit/merkle.ts';
import { inclusionRanges, rangeHash } from '@lemniscate/shared/audit/merkle-proof.ts';
import type { StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { isIncluded, proveChain, toHex } from './chain-proof.ts';

const chain = 'session:s_1';

function makeChain(count: number): StoredEntry[] {
  const entries: StoredEntry[] = [];
  let prev = new Uint8Array();
  for (let seq = 1; seq <= count; seq += 1) {
    const type = seq === 1 ? 'session.opened' : seq === count ? 'chain.closed' : 'model.exchanged';
    const at = `2026-11-29T10:00:0${seq}.000Z`;
    const body = Buffer.from(JSON.stringify({ at, body: {}, subject: 'local:é', type, v: 1 }));
    const digest = sharedDigest(chain, seq, prev, body);
    entries.push({
      chain,
      seq,
      type,
      at,
      prev: toHex(prev),
      digest: toHex(digest),
      body: body.toString('base64'),
    });
    prev = new Uint8Array(digest);
  }
  return entries;
}

const headOf = (entries: readonly StoredEntry[]) => ({
  seq: entries.at(-1)?.seq ?? 0,
  digest: entries.at(-1)?.digest ?? '',
});

test('a whole chain is whole, by the rules of the other verifier', async () => {
  const entries = makeChain(5);
  assert.deepEqual(await proveChain(chain, entries, headOf(entries)), {
    entries: 5,
    closed: true,
    fault: null,
    head: headOf(entries).digest,
  });
});

test('a changed, missing, moved or cut entry is found', async () => {
  const entries = makeChain(5);
  const head = headOf(entries);
  const changed = entries.map((entry) =>
    entry.seq === 3
      ? { ...entry, body: Buffer.from('{"type":"model.exchanged"}').toString('base64') }
      : entry,
  );
  const relabelled = entries.map((entry) => (entry.seq === 3 ? { ...entry, type: 'file.read' } : entry));
  const [first, second, ...rest] = entries;
  assert.ok(first !== undefined && second !== undefined);
  for (const [broken, expected] of [
    [changed, /bytes of entry 3/],
    [relabelled, /shown of entry 3/],
    [entries.filter(({ seq }) => seq !== 3), /after entry 2 comes 4/],
    [[second, first, ...rest], /after entry 0 comes 2/],
    [entries.slice(0, 4), /said to end at entry 5/],
    [[], /no entry/],
  ] as const)
    assert.match((await proveChain(chain, broken, head)).fault ?? 'whole', expected);
});

test('a proof of inclusion holds for its entry and for no other', async () => {
  const digests = makeChain(7).map(({ digest }) => Buffer.from(digest, 'hex'));
  const leaves = digests.map((digest) => leafHash(digest));
  const tree = createTreeHasher();
  for (const leaf of leaves) tree.push(leaf);
  const root = tree.root();
  const read = (node: { level: number; index: number }): Uint8Array => {
    const part = createTreeHasher();
    const width = 2 ** node.level;
    for (const leaf of leaves.slice(node.index * width, (node.index + 1) * width)) part.push(leaf);
    return part.root();
  };
  for (const [index, digest] of digests.entries()) {
    const path = inclusionRanges(index, digests.length).map((range) => rangeHash(range, read));
    assert.equal(verifyInclusion(leafHash(digest), index, { size: 7, root }, path), true);
    const hexPath = path.map((hash) => toHex(hash));
    assert.equal(await isIncluded(toHex(digest), index, 7, hexPath, toHex(root)), true);
    assert.equal(await isIncluded(toHex(digest), (index + 1) % 7, 7, hexPath, toHex(root)), false);
  }
});
