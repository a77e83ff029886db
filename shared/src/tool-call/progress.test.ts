import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advanceToolCall } from './progress.ts';

test('a report moves a call along the table, also over states that nobody reported', () => {
  assert.equal(advanceToolCall(undefined, 'generating'), 'generating');
  assert.equal(advanceToolCall('generating', 'generated'), 'generated');
  assert.equal(advanceToolCall('generating', 'calling'), 'calling');
  assert.equal(advanceToolCall('generated', 'done'), 'done');
});

test('a late report moves nothing back, and an end stays', () => {
  assert.equal(advanceToolCall('calling', 'generated'), 'calling');
  assert.equal(advanceToolCall('done', 'errored'), 'done');
  assert.equal(advanceToolCall('canceled', 'calling'), 'canceled');
});
