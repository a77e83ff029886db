import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { ProviderLimits } from '../ports/model-provider.ts';
import { createFairGate } from './fair-gate.ts';
import type { FairGate, GateOptions } from './fair-gate.ts';

let ms = 0;
const clock: Clock = { now: () => new Date(ms), monotonicMs: () => ms };
const open = new AbortController().signal;
let holders = 0;

function gateOf(limits: ProviderLimits, more: Partial<GateOptions> = {}): FairGate {
  const newHolder = (): string => `holder_${(holders += 1)}`;
  return createFairGate({ name: 'p', limits, clock, newHolder, log: { warn: () => undefined }, ...more });
}

test('parties take turns, whoever came with more', async () => {
  const gate = gateOf({ concurrency: 1 });
  const leaveFirst = await gate.enter('a', 1, open);
  const order: string[] = [];
  const come = async (party: string): Promise<void> => {
    const leave = await gate.enter(party, 1, open);
    order.push(party);
    leave(null);
  };
  const all = [come('a'), come('a'), come('a'), come('b'), come('c')];
  assert.equal(gate.waiting(), 5);
  leaveFirst(null);
  leaveFirst(null);
  await Promise.all(all);
  assert.deepEqual(order, ['a', 'b', 'c', 'a', 'a']);
});

test('tokens are let through as the minute goes on', async () => {
  const gate = gateOf({ tokensPerMinute: 600 });
  (await gate.enter('a', 600, open))(null);
  const next = gate.enter('a', 100, open);
  assert.equal(gate.waiting(), 1);
  ms += 10_000;
  (await next)(null);
  assert.equal(gate.waiting(), 0);
});

test('what an exchange really used is put right when it is over', async () => {
  const gate = gateOf({ tokensPerMinute: 600 });
  const first = await gate.enter('a', 600, open);
  // It used a sixth of what was expected: the rest is there again at once.
  first(100);
  (await gate.enter('b', 500, open))(700);
  // And two hundred more than it took: nobody comes in before they have flown back.
  ms += 19_000;
  await assert.rejects(gate.enter('c', 1, AbortSignal.timeout(200)), { name: 'TimeoutError' });
  ms += 2_000;
  (await gate.enter('c', 1, open))(null);
});

test('a debt of tokens is at most a minute’s', async () => {
  const gate = gateOf({ tokensPerMinute: 600 });
  (await gate.enter('a', 100, open))(1_000_000);
  ms += 59_000;
  await assert.rejects(gate.enter('b', 1, AbortSignal.timeout(200)), { name: 'TimeoutError' });
  ms += 2_000;
  (await gate.enter('b', 1, open))(null);
});

test('who waits too long is refused, who leaves gives the place back', async () => {
  const gate = gateOf({ concurrency: 1 }, { waitMs: 20 });
  const leave = await gate.enter('a', 1, open);
  await assert.rejects(gate.enter('b', 1, open), { code: 'unavailable' });
  const gone = new AbortController();
  const waiting = gate.enter('c', 1, gone.signal);
  gone.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  assert.equal(gate.waiting(), 0);
  leave(null);
  (await gate.enter('d', 1, open))(null);
});

test('who leaves while the shared room is asked takes nothing', async () => {
  const asked = Promise.withResolvers<boolean>();
  const taken: string[] = [];
  const given: string[] = [];
  const shared = {
    take: (holder: string) => {
      taken.push(holder);
      return asked.promise;
    },
    give: (holder: string) => void given.push(holder),
  };
  const gate = gateOf({ concurrency: 1 }, { shared });
  const gone = new AbortController();
  const entering = gate.enter('a', 1, gone.signal);
  gone.abort();
  await assert.rejects(entering, { name: 'AbortError' });
  assert.deepEqual(given, taken, 'its turn is given up at once');
  asked.resolve(true);
  (await gate.enter('b', 1, open))(null);
  const [left] = taken;
  assert.deepEqual(given, [left, ...taken], 'and the place that it was given all the same');
});

test('without a shared room to ask, a gateway keeps the limits by itself, and asks again later', async () => {
  const warned: unknown[] = [];
  let asked = 0;
  const take = (): Promise<boolean> => {
    asked += 1;
    return asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(true);
  };
  const shared = { take, give: () => undefined };
  const log = { warn: (...said: unknown[]) => void warned.push(said) };
  const gate = gateOf({ concurrency: 1 }, { shared, log, waitMs: 20 });
  const leave = await gate.enter('a', 1, open);
  await assert.rejects(gate.enter('b', 1, open), { code: 'unavailable' });
  leave(null);
  (await gate.enter('b', 1, open))(null);
  assert.deepEqual([warned.length, asked], [1, 1]);
  ms += 5_000;
  (await gate.enter('b', 1, open))(null);
  assert.deepEqual([warned.length, asked], [1, 2]);
});
