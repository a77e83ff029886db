import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAtMost } from './read-at-most.ts';

test('a body is read whole up to its bound, also where a character is cut between two pieces', async () => {
  const bytes = Buffer.from('grün');
  assert.equal(await readAtMost(pieces([bytes.subarray(0, 3), bytes.subarray(3)]), 5), 'grün');
});

test('a body without an end is left as soon as it is longer than its bound', async () => {
  let given = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      given += 1;
      yield Buffer.alloc(100);
    }
  }
  await assert.rejects(readAtMost(endless(), 1_000), /longer than 1000 bytes/);
  assert.equal(given, 11);
});

async function* pieces(all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}
