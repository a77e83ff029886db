import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnLag, isOwnFault } from './own-lag.ts';

function open() {
  let now = 1_000;
  const lag = createOwnLag({ monotonicMs: () => now }, 100);
  return {
    lag,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test('ticks that come in time are no lag', () => {
  const { lag, pass } = open();
  for (let ticks = 0; ticks < 50; ticks += 1) {
    pass(100);
    lag.tick();
  }
  pass(99);
  assert.equal(lag.lateMs(), 0);
});

test('a block shows before the tick behind it has run, and once', () => {
  const { lag, pass } = open();
  pass(7_100);
  assert.equal(lag.lateMs(), 7_000);
  lag.tick();
  assert.equal(lag.lateMs(), 7_000);
  pass(100);
  lag.tick();
  assert.equal(lag.lateMs(), 7_000);
});

test('many small delays add up', () => {
  const { lag, pass } = open();
  for (let ticks = 0; ticks < 35; ticks += 1) {
    pass(180);
    lag.tick();
  }
  assert.equal(lag.lateMs(), 35 * 80);
  assert.ok(isOwnFault(lag.lateMs(), 5_000));
  assert.ok(!isOwnFault(2_500, 5_000));
});
