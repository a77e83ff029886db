import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { createLease } from '../lease.ts';
import { createPermitDesk } from './permit-desk.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const proposal = { callId: 'c', turn: 1, tool: 'list_files', arguments: {}, argumentsDigest: 'a'.repeat(64) };
const go: PermitAnswer = { verdict: 'go', decidedBy: 'human', reasons: [] };
const waiting: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };

/** A desk whose dispatcher answers by script; the last answer repeats. */
function deskOf(...script: (PermitAnswer | ErrorCode)[]) {
  let asked = 0;
  const desk = createPermitDesk({
    held: { sessionId: 's_1', attempt: 1 },
    lease: createLease(() => 0, 0, 1000),
    log,
    dispatcher: {
      askPermit: async () => {
        const answer = script[Math.min(asked, script.length - 1)] ?? go;
        asked += 1;
        if (typeof answer === 'string') throw new CodedError(answer, `scripted ${answer}`);
        return answer;
      },
    },
  });
  return { desk, asked: () => asked };
}
const never = new AbortController().signal;

test('it asks until somebody has decided, and says once that a person has to', async () => {
  const { desk, asked } = deskOf(waiting, waiting, waiting, go);
  let told = 0;
  assert.deepEqual(await desk.ask(proposal, never, () => (told += 1)), go);
  assert.deepEqual([asked(), told], [4, 1]);
});

test('a dispatcher that is away is asked again', async () => {
  const { desk, asked } = deskOf('service_unreachable', 'unavailable', go);
  assert.deepEqual(await desk.ask(proposal, never, () => undefined), go);
  assert.equal(asked(), 3);
});

for (const code of ['attempt_stale', 'request_invalid', 'digest_mismatch', 'conflict'] as const) {
  test(`${code} is an answer, and is not asked twice`, async () => {
    const { desk, asked } = deskOf(code);
    await assert.rejects(
      desk.ask(proposal, never, () => undefined),
      { code },
    );
    assert.equal(asked(), 1);
  });
}

test('a stop ends the wait with its reason', async () => {
  const { desk } = deskOf('service_unreachable');
  const stop = new AbortController();
  const asking = desk.ask(proposal, stop.signal, () => undefined);
  stop.abort(new Error('stopped by the test'));
  await assert.rejects(asking, /stopped by the test/);
});
