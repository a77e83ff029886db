import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import type { SpanStart, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { App } from './app.ts';
import { traceOf, traceRequests } from './trace-requests.ts';

const named = (digit: string): string => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;

/** A tracer that remembers what it was asked to start. */
function recordingTracer(): { tracer: Tracer; started: SpanStart[] } {
  const started: SpanStart[] = [];
  const span = { context: named('f'), set: () => undefined, fail: () => undefined, end: () => undefined };
  const tracer: Tracer = {
    start: (asked) => {
      started.push(asked);
      return span;
    },
  };
  return { tracer, started };
}

async function ask(listener: 'public' | 'internal', headers: Record<string, string>) {
  const { tracer, started } = recordingTracer();
  const app = fastify() as unknown as App;
  traceRequests(app, tracer, listener);
  let seen: string | null = null;
  app.get('/thing/:id', async (request) => {
    seen = traceOf(request);
    return {};
  });
  await app.inject({ url: '/thing/secret-7?token=hush', headers });
  await app.close();
  return { started, seen };
}

test('a stranger’s context is linked and begins nothing of ours', async () => {
  const { started, seen } = await ask('public', { traceparent: named('1') });
  assert.equal(started[0]?.parent, null);
  assert.deepEqual(started[0]?.links, [named('1')]);
  assert.equal(seen, named('f'));
});

test('a server’s context is adopted, and the sandbox’ own, which it hands on, is linked', async () => {
  const headers = { traceparent: named('1'), 'x-sandbox-traceparent': named('2') };
  const { started } = await ask('internal', headers);
  assert.equal(started[0]?.parent, named('1'));
  assert.deepEqual(started[0]?.links, [named('2')]);
  const alone = await ask('internal', { 'x-sandbox-traceparent': named('2') });
  assert.deepEqual(alone.started, []);
});

test('a span knows the route and not the address', async () => {
  const { started } = await ask('public', {});
  assert.equal(started[0]?.name, 'GET /thing/:id');
  assert.ok(!JSON.stringify(started).includes('secret-7') && !JSON.stringify(started).includes('hush'));
});

test('off, there is no hook at all', async () => {
  const app = fastify() as unknown as App;
  let hooks = 0;
  const counting = { addHook: () => (hooks += 1) } as unknown as App;
  traceRequests(counting, null, 'public');
  assert.equal(hooks, 0);
  await app.close();
});
