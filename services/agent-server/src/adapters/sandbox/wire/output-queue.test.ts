import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createOutputQueue } from './output-queue.ts';

const item = (size: number) => ({ stream: 'stdout', bytes: Buffer.alloc(size) }) as const;

it('says when it is full, and when there is room again', async () => {
  let room = 0;
  const queue = createOutputQueue(10, () => (room += 1));
  assert.equal(queue.push(item(4)), true);
  assert.equal(queue.push(item(8)), false);
  const reader = queue.output[Symbol.asyncIterator]();
  await reader.next();
  assert.equal(room, 1);
  queue.close();
  assert.equal((await reader.next()).done, false);
  assert.equal((await reader.next()).done, true);
});

it('takes and drops everything once the reader has left', async () => {
  let room = 0;
  const queue = createOutputQueue(10, () => (room += 1));
  queue.push(item(20));
  for await (const _item of queue.output) break;
  assert.ok(room > 0);
  assert.equal(queue.push(item(1_000)), true);
});
