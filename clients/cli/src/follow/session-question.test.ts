import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { isQuestion, settles } from './session-question.ts';

type Of<Type> = Extract<SessionEvent, { type: Type }>;

const approval = (approvalId: string, state: Of<'approval'>['state']): SessionEvent => ({
  type: 'approval',
  approvalId,
  callId: 'c_1',
  state,
  tool: 'run_command',
  title: 'ls',
  argumentsDigest: 'd',
  reasons: [],
});
const extension = (number: number, state: Of<'extension'>['state']): SessionEvent => ({
  type: 'extension',
  number,
  state,
  cause: 'budget_actions',
  used: { actions: 1, minutes: 1 },
  grants: { actions: 1, minutes: 1, left: 0 },
});
const message = (state: Of<'message'>['state']): SessionEvent => ({ type: 'message', number: 1, state });
const state = (now: Of<'state'>['state']): SessionEvent => ({
  type: 'state',
  state: now,
  phase: 'ended',
  reason: null,
  attempt: 1,
  server: null,
});

test('approvals, extensions and the wait for a message are questions; their answers are not', () => {
  for (const event of [approval('a', 'waiting'), extension(1, 'waiting'), message('awaited')])
    assert.ok(isQuestion(event));
  for (const event of [approval('a', 'approved'), extension(1, 'granted'), message('sent'), state('running')])
    assert.ok(!isQuestion(event));
});

test('a question is settled by its own answer or the end of the session, by nothing else', () => {
  const asked = approval('a', 'waiting');
  for (const how of ['approved', 'rejected', 'expired', 'withdrawn'] as const) {
    assert.ok(settles(approval('a', how), asked), how);
    assert.ok(!settles(approval('b', how), asked), 'another question');
  }
  assert.ok(!settles(approval('a', 'waiting'), asked), 'one of several people has answered');
  assert.ok(settles(extension(1, 'granted'), extension(1, 'waiting')));
  assert.ok(!settles(extension(2, 'granted'), extension(1, 'waiting')));
  assert.ok(settles(message('sent'), message('awaited')));
  assert.ok(!settles(message('sent'), asked));
  for (const question of [asked, extension(1, 'waiting'), message('awaited')]) {
    assert.ok(settles(state('user_stopped'), question));
    assert.ok(!settles(state('paused'), question));
  }
});
