import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWarmDemand } from './warm-demand.ts';

function createBench(floor: number, ceiling: number) {
  let now = 0;
  const clock = { now: () => new Date(now), monotonicMs: () => now };
  return { demand: createWarmDemand(clock, { floor, ceiling }), pass: (ms: number) => void (now += ms) };
}

test('an idle pool keeps its floor', () => {
  assert.equal(createBench(2, 10).demand.target(), 2);
  assert.equal(createBench(0, 10).demand.target(), 0);
});

test('it grows with arrivals times the slowest refill, to the ceiling, and shrinks when they stop', () => {
  const { demand, pass } = createBench(1, 8);
  demand.refilled(1_000);
  for (let count = 0; count < 15; count += 1) demand.arrived();
  assert.equal(demand.target(), 3, '15 in 5 s, 1 s for each');
  demand.refilled(60_000);
  assert.equal(demand.target(), 8);
  pass(61_000);
  assert.equal(demand.target(), 1);
});

test('a ceiling below the floor does not take the floor away', () => {
  assert.equal(createBench(3, 1).demand.target(), 3);
});
