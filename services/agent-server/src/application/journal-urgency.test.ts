import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { ToolCallState } from '@lemniscate/shared/tool-call/state.ts';
import { createUrgency } from './journal-urgency.ts';

const call = (state: ToolCallState): ServerEvent => ({
  type: 'tool_call',
  callId: 'c_1',
  turn: 1,
  tool: 'run_command',
  state,
});

test('the steps of a call wait for the first event that a person waits for', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const urgency = createUrgency(() => undefined);
  for (const [index, state] of (['generating', 'generated', 'calling'] as const).entries())
    urgency.note(call(state), index + 1);
  assert.equal(urgency.isDue(0), false);
  urgency.note({ type: 'output', callId: 'c_1', stream: 'stdout', text: 'x' }, 4);
  assert.equal(urgency.isDue(0), true);
  assert.equal(urgency.isDue(4), false);
});

test('an end of a call leaves at once', () => {
  for (const state of ['done', 'errored', 'canceled'] as const) {
    const urgency = createUrgency(() => undefined);
    urgency.note(call(state), 1);
    assert.equal(urgency.isDue(0), true, state);
  }
});

test('patience runs out, for all that waited', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let woken = 0;
  const urgency = createUrgency(() => (woken += 1));
  urgency.note(call('generating'), 1);
  t.mock.timers.tick(6);
  urgency.note(call('generated'), 2);
  t.mock.timers.tick(4);
  assert.equal(woken, 1);
  assert.equal(urgency.isDue(1), true);
  assert.equal(urgency.isDue(2), false);
});
