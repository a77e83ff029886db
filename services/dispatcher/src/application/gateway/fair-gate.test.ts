import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { createFairGate } from './fair-gate.ts';

let ms = 0;
const clock: Clock = { now: () => new Date(ms), monotonicMs: () => ms };
const open = new AbortController().signal;

test('parties take turns, whoever came with more', async () => {
  const gate = createFairGate('p', { concurrency: 1 }, clock);
  const leaveFirst = await gate.enter('a', 1, open);
  const order: string[] = [];
  const come = async (party: string): Promise<void> => {
    const leave = await gate.enter(party, 1, open);
    order.push(party);
    leave();
  };
  const all = [come('a'), come('a'), come('a'), come('b'), come('c')];
  assert.equal(gate.waiting(), 5);
  leaveFirst();
  leaveFirst();
  await Promise.all(all);
  assert.deepEqual(order, ['a', 'b', 'c', 'a', 'a']);
});

test('tokens are let through as the minute goes on', async () => {
  const gate = createFairGate('p', { tokensPerMinute: 600 }, clock);
  (await gate.enter('a', 600, open))();
  const next = gate.enter('a', 100, open);
  assert.equal(gate.waiting(), 1);
  ms += 10_000;
  (await next)();
  assert.equal(gate.waiting(), 0);
});

test('who waits too long is refused, who leaves gives the place back', async () => {
  const gate = createFairGate('p', { concurrency: 1 }, clock, 20);
  const leave = await gate.enter('a', 1, open);
  await assert.rejects(gate.enter('b', 1, open), { code: 'unavailable' });
  const gone = new AbortController();
  const waiting = gate.enter('c', 1, gone.signal);
  gone.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  assert.equal(gate.waiting(), 0);
  leave();
  (await gate.enter('d', 1, open))();
});
