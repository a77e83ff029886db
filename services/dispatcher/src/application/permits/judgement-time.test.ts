import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '@lemniscate/shared/clock.ts';
import { lateAfter } from './judgement-time.ts';

test('a judgement is late by what it has computed', () => {
  let spent = 70;
  const isLate = lateAfter(() => spent);
  assert.equal(isLate(), false);
  spent += 500;
  assert.equal(isLate(), false);
  spent += 1;
  assert.equal(isLate(), true);
});

test('the time that a thread stands still is none of its processor time', () => {
  const [began, wall] = [threadProcessorMs(), performance.now()];
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
  assert.ok(performance.now() - wall > 50);
  assert.ok(threadProcessorMs() - began < 50);
  while (threadProcessorMs() - began < 60);
  assert.ok(threadProcessorMs() - began >= 60, 'what it computes is');
});
