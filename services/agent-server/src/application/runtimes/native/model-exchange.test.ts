import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { streamOf } from '@lemniscate/shared/testing/upstream/anthropic-answer.ts';
import { createLease } from '../../lease.ts';
import type { ModelAnswer } from '../../ports/dispatcher.ts';
import { askModel } from './model-exchange.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function answer(status: number, text: string, retryAfterMs: number | null = null): ModelAnswer {
  const body = (async function* () {
    yield Buffer.from(text);
  })();
  return { status, contentType: '', retryAfterMs, body };
}
const whole = () => answer(200, streamOf({ blocks: [{ text: 'Hello.' }] }).join(''));
const refused =
  (status: number, message: string, retryAfterMs: number | null = null) =>
  () =>
    answer(status, JSON.stringify({ type: 'error', error: { type: 'x', message } }), retryAfterMs);

/** Asks a model that answers by script; time passes only by `tick` with each request. */
function ask(script: (() => ModelAnswer)[], tick = 0, signal = new AbortController().signal) {
  const voids: string[] = [];
  let asked = 0;
  const context = {
    order: { sessionId: 's_1', attempt: 1, relayToken: 't' } as SessionOrder,
    lease: createLease(() => 0, 0, 1000),
    clock: { now: () => new Date(), monotonicMs: () => asked * tick },
    log,
    signal,
    waiting: signal,
    dispatcher: {
      askModel: async () => {
        const next = script[Math.min(asked, script.length - 1)] ?? whole;
        asked += 1;
        return next();
      },
    },
  };
  const message = askModel(context, '{}', {
    onChange: async () => undefined,
    onVoid: (why) => voids.push(why),
  });
  return { message, voids, asked: () => asked };
}

test('what passes is asked again, and the person is told each time', async () => {
  const exchange = ask([refused(529, 'busy'), refused(500, 'oops'), whole]);
  assert.equal((await exchange.message).stopReason, 'end_turn');
  assert.equal(exchange.voids.length, 2);
  assert.match(exchange.voids[0] ?? '', /529.*busy/);
});

test('the provider’s wish for a later time is heeded', async () => {
  const began = performance.now();
  await ask([refused(429, 'slow down', 700), whole]).message;
  assert.ok(performance.now() - began >= 690);
});

for (const [status, code, message] of [
  [400, 'request_refused_by_gateway', /400.*why/],
  [401, 'provider_failed', /401.*why/],
  [402, 'budget_exhausted', /why/],
  [409, 'attempt_stale', /no longer/],
] as const) {
  test(`status ${status} is final: ${code}`, async () => {
    const exchange = ask([refused(status, 'why')]);
    await assert.rejects(exchange.message, (error: CodedError) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
    assert.equal(exchange.asked(), 1);
  });
}

test('a provider that fails for five minutes has failed for good', async () => {
  const exchange = ask([refused(503, 'down')], 200_000);
  await assert.rejects(exchange.message, { code: 'provider_failed' });
  assert.equal(exchange.asked(), 3);
});

test('the dispatcher’s absence does not count towards that', async () => {
  const away = () => {
    throw new CodedError('service_unreachable', 'away');
  };
  const exchange = ask([away, away, away, whole], 200_000);
  assert.equal((await exchange.message).stopReason, 'end_turn');
});

test('nor does the time without a lease, however the outage began', async () => {
  let now = 0;
  const lease = createLease(() => now, 0, 15_000);
  const answers = [refused(503, 'no database'), refused(503, 'still'), refused(503, 'not yet'), whole];
  let asked = 0;
  const { signal } = new AbortController();
  const context = {
    order: { sessionId: 's_1', attempt: 1, relayToken: 't' } as SessionOrder,
    lease: {
      ...lease,
      hold: (until: AbortSignal) => {
        const held = lease.hold(until);
        if (!lease.valid()) {
          now += 400_000;
          lease.renew(now, 15_000);
        }
        return held;
      },
    },
    clock: { now: () => new Date(), monotonicMs: () => now },
    log,
    signal,
    waiting: signal,
    dispatcher: {
      askModel: async () => {
        const next = answers[asked] ?? whole;
        asked += 1;
        now += 10_000;
        return next();
      },
    },
  };
  const message = await askModel(context, '{}', {
    onChange: async () => undefined,
    onVoid: () => undefined,
  });
  assert.equal(message.stopReason, 'end_turn');
  assert.equal(asked, 4);
  assert.ok(now > 400_000, 'the lease was away');
});

test('a page instead of a problem is told by its status', async () => {
  await assert.rejects(ask([() => answer(403, '<html>no</html>')]).message, /\(403\): status 403/);
});
