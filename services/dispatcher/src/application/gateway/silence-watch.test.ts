import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createSilenceWatch } from './silence-watch.ts';

/** The watch of ten seconds on a clock of the test's, and a way to let it pass. */
function watched(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const watch = createSilenceWatch(10_000);
  t.after(watch.stop);
  return {
    watch,
    pass: (ms: number) => {
      for (let left = ms; left > 0; left -= 50) {
        now += 50;
        t.mock.timers.tick(50);
      }
    },
  };
}

test('silence ends an answer after the time, and at most an eighth later', (t) => {
  const { watch, pass } = watched(t);
  pass(9_950);
  assert.equal(watch.signal.aborted, false);
  pass(1_300);
  assert.equal(watch.signal.aborted, true);
  assert.match(String(watch.signal.reason), /silent for 10000 ms/);
});

test('each piece is heard, and the time counts from the last one', (t) => {
  const { watch, pass } = watched(t);
  for (let piece = 0; piece < 5; piece += 1) {
    pass(8_000);
    watch.flow.pieces += 1;
  }
  assert.equal(watch.signal.aborted, false);
  pass(9_950);
  assert.equal(watch.signal.aborted, false);
  pass(2_550);
  assert.equal(watch.signal.aborted, true);
});

test('what waits for a slow receiver is not the provider’s silence', (t) => {
  const { watch, pass } = watched(t);
  watch.flow.isHeldUp = true;
  pass(60_000);
  assert.equal(watch.signal.aborted, false);
  watch.flow.isHeldUp = false;
  pass(12_550);
  assert.equal(watch.signal.aborted, true);
});
