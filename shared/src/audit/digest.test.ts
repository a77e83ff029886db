import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { commitment } from './commitment.ts';
import { entryDigest, toHex } from './digest.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('an entry’s digest is SHA-256 over the domain and four length-prefixed parts', () => {
  // written out by hand, as a verifier in another language would
  const expected = createHash('sha256')
    .update('lemniscate/audit/entry/v1\0')
    .update(Buffer.from([0, 0, 0, 9]))
    .update('session:a')
    .update(Buffer.from([0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]))
    .update(Buffer.from([0, 0, 0, 2]))
    .update('pp')
    .update(Buffer.from([0, 0, 0, 2]))
    .update('{}')
    .digest('hex');
  assert.equal(toHex(entryDigest('session:a', 7, bytes('pp'), bytes('{}'))), expected);
});

test('bytes that move from one part to the next change the digest', () => {
  const digests = [
    entryDigest('ab', 1, bytes('c'), bytes('d')),
    entryDigest('a', 1, bytes('bc'), bytes('d')),
    entryDigest('ab', 1, bytes(''), bytes('cd')),
    entryDigest('ab', 2, bytes('c'), bytes('d')),
  ].map(toHex);
  assert.equal(new Set(digests).size, digests.length);
});

test('a commitment depends on key, kind and text', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const made = [
    commitment(one, 'instruction', 'fix it'),
    commitment(two, 'instruction', 'fix it'),
    commitment(one, 'message', 'fix it'),
    commitment(one, 'instruction', 'fix it '),
  ];
  assert.equal(new Set(made).size, made.length);
  assert.equal(made[0], commitment(one, 'instruction', 'fix it'));
});
