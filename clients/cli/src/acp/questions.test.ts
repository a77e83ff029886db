import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createQuestions } from './questions.ts';
import type { Question } from './questions.ts';

const waiting: Extract<SessionEvent, { type: 'approval' }> = {
  type: 'approval',
  approvalId: 'apr_1',
  callId: 'c',
  state: 'waiting',
  tool: 'run_command',
  title: 'make',
  argumentsDigest: 'd',
  reasons: [],
};

test('a question is asked once, where it is answered, and withdrawn when somebody else has answered', async () => {
  const asked: Question[] = [];
  const signals: AbortSignal[] = [];
  const questions = createQuestions('s_1', async (question, withdrawn) => {
    asked.push(question);
    signals.push(withdrawn);
    await once(withdrawn, 'abort');
  });
  questions.hear(waiting);
  questions.hear(waiting);
  questions.hear({ ...waiting, approvalId: 'apr_2', sessionId: 's_of_its_sub_agent' });
  assert.deepEqual(asked, [
    { sessionId: 's_1', approvalId: 'apr_1' },
    { sessionId: 's_of_its_sub_agent', approvalId: 'apr_2' },
  ]);
  questions.hear({ ...waiting, state: 'approved' });
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  await questions.settle();
  assert.equal(signals[1]?.aborted, true, 'the rest is withdrawn at the end');
});

test('a question that fails while the session goes on is told at the end of the turn', async () => {
  const questions = createQuestions('s_1', () => Promise.reject(new Error('You are no approver.')));
  questions.hear(waiting);
  // The process would end here if nobody had taken the failure.
  await new Promise(setImmediate);
  await assert.rejects(questions.settle(), /no approver/);
});
