import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { startBench } from './testing/agent-server-bench.ts';
import type { Bench } from './testing/agent-server-bench.ts';
import { play, resultOf, settled } from './testing/session-script.ts';

const writing = (command: string) => [
  { blocks: [{ id: 'write', tool: 'run_command', input: { command } }] },
  { blocks: [{ text: 'Written.' }] },
];

/** Offers the order until a slot is free. */
async function accepted(bench: Bench, order: SessionOrder): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const { status } = await bench.put(order);
    if (status === 202) return;
    assert.equal(status, 429);
    assert.ok(performance.now() < deadline, 'no slot became free');
  }
}

test('a large patch goes to the object store, and the result names the upload', async (t) => {
  const bench = await startBench(t);
  play(bench, writing('seq 1 100000 > numbers'));
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.ok(result.patch?.kind === 'upload');
  const bytes = bench.dispatcher.uploads.get(result.patch.uploadId);
  assert.equal(bytes?.length, result.diff?.bytes);
  assert.match(bytes?.toString('utf8') ?? '', /\+100000\n$/);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a result that is refused for now comes again; the slot is free meanwhile', async (t) => {
  const bench = await startBench(t, { capacity: 1 });
  play(bench, writing('echo x > made'));
  let refusals = 0;
  let open = false;
  bench.dispatcher.onResult = () => {
    if (open) return null;
    refusals += 1;
    return new CodedError('unavailable', 'The record is away.');
  };
  const order = bench.order();
  await bench.put(order);
  await bench.dispatcher.until(() => refusals >= 2);
  assert.equal(bench.server.status().held.length, 1);
  const next = bench.order();
  await accepted(bench, next);
  open = true;
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  await resultOf(bench, next.sessionId);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a result that is refused for good keeps its patch for an operator', async (t) => {
  const bench = await startBench(t);
  play(bench, writing('echo kept > made'));
  bench.dispatcher.onResult = () => new CodedError('conflict', 'Another result is there.');
  const order = bench.order();
  await bench.put(order);
  const kept = join(bench.config.stateFolder, 'unsaved');
  await bench.dispatcher.until(() => existsSync(kept) && bench.server.status().held.length === 0);
  const file = `${order.sessionId}.1.patch`;
  assert.match(readFileSync(join(kept, file), 'utf8'), /\+kept/);
});

test('a result that is too large ends its session as unsaved, instead of having it run again', async (t) => {
  const bench = await startBench(t);
  play(bench, writing('echo kept > made'));
  bench.dispatcher.onResult = (result) =>
    result.diff === null ? null : new CodedError('payload_too_large', 'The body is too large.');
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'result_unsaved');
  assert.equal(result.diff, null);
  const file = join(bench.config.stateFolder, 'unsaved', `${order.sessionId}.1.patch`);
  assert.ok(result.message.includes(file), result.message);
  assert.match(readFileSync(file, 'utf8'), /\+kept/);
  await settled(bench);
});
