import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '@lemniscate/shared/clock.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createAgentServerClient } from './agent-server-client.ts';
import { watchOwnLag } from './own-lag.ts';

const timeoutMs = 400;
const told = () => undefined;
const log = { debug: told, info: told, warn: told, error: told };

/** A server that hears everything and says nothing, and a client of it. */
async function open(t: TestContext, clock: Pick<Clock, 'monotonicMs'>) {
  const heard = Promise.withResolvers<void>();
  const server = createServer(() => heard.resolve()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ownLag = watchOwnLag(clock);
  const client = createAgentServerClient({
    certificate: { ca: '', cert: '', key: '' },
    addressOf: () => Promise.resolve(url),
    log,
    timeoutMs,
    ownLag,
  });
  t.after(async () => {
    ownLag.close();
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const probe = async (): Promise<CodedError> => {
    const error: unknown = await client.probe(url).catch((thrown: unknown) => thrown);
    return isCodedError(error, 'service_unreachable') ? error : assert.fail(String(error));
  };
  return { probe, heard: heard.promise };
}

function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('a probe that nobody answers in time is the server’s fault', async (t) => {
  // A process that is never late, however busy the machine of the test is.
  const { probe } = await open(t, { monotonicMs: () => 0 });
  const { details } = await probe();
  assert.deepEqual([details['how'], details['isOurs']], ['no answer in time', undefined]);
});

test('one that ran out while this very process was blocked is our own', async (t) => {
  const { probe, heard } = await open(t, systemClock);
  const probed = probe();
  await Promise.race([heard, probed]);
  block(2 * timeoutMs);
  const { details } = await probed;
  assert.deepEqual([details['how'], details['isOurs']], ['no answer in time', true]);
});
