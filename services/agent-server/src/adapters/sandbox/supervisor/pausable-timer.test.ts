import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPausableTimer } from './pausable-timer.ts';

test('a deadline counts the time in which it runs', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const pass = (ms: number): void => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  let due = 0;
  const timer = startPausableTimer(1_000, () => (due += 1));
  pass(900);
  timer.pause();
  timer.pause();
  pass(300_000);
  timer.resume();
  timer.resume();
  pass(99);
  assert.equal(due, 0);
  pass(1);
  assert.equal(due, 1);
});

test('one that was cleared does not come back', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const timer = startPausableTimer(10, () => assert.fail('it was cleared'));
  timer.pause();
  timer.clear();
  timer.resume();
  t.mock.timers.tick(1_000);
});
