import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { startBench } from './testing/agent-server-bench.ts';
import { eventOf, eventsOf, outputOf, play, resultOf, settled } from './testing/session-script.ts';

const leaseMs = 1500;
/** Of a session that must not be cut off: longer than a machine of tests stands still. */
const longLeaseMs = 4000;
/** Beyond the lease: the fleet's grace, after which the session may go on elsewhere. */
const destroyedWithinMs = 5_000;

/** A session of a short lease, in the middle of a command. */
async function startHanging(t: TestContext) {
  const bench = await startBench(t);
  bench.dispatcher.leaseMs = leaseMs;
  play(bench, [
    { blocks: [{ id: 'hang', tool: 'run_command', input: { command: 'echo begun; sleep 600' } }] },
  ]);
  const order = bench.order({ leaseMs });
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  return { bench, order };
}

test('a server that hears nothing of its dispatcher destroys its sandboxes when the lease ends, by itself', async (t) => {
  const { bench } = await startHanging(t);
  await bench.dispatcher.fallSilent();
  const began = performance.now();
  await bench.dispatcher.until(() => bench.server.status().held.length === 0, leaseMs + destroyedWithinMs);
  // What a session held is gone from the machine, not only from the server's books.
  assert.deepEqual(await bench.leftovers(), []);
  assert.ok(performance.now() - began < leaseMs + destroyedWithinMs);
  assert.equal(bench.dispatcher.results.length, 0);
});

test('a dispatcher that is down costs no session: connections are turned down, and nobody is cut off', async (t) => {
  const bench = await startBench(t);
  bench.dispatcher.leaseMs = longLeaseMs;
  play(bench, [
    { blocks: [{ id: 'short', tool: 'run_command', input: { command: 'echo begun; sleep 8' } }] },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order({ leaseMs: longLeaseMs });
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  await bench.dispatcher.goAway();
  // Three leases, first without anybody at the address, then with somebody who turns each down.
  const threeLeases = performance.now() + 3 * longLeaseMs;
  await bench.dispatcher.until(() => performance.now() > threeLeases);
  await bench.dispatcher.missed(6);
  assert.equal(bench.server.status().held.length, 1);
  await bench.dispatcher.comeBack();
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
});

test('a dispatcher that answers and cannot renew since its record is away costs no session', async (t) => {
  const bench = await startBench(t);
  bench.dispatcher.leaseMs = longLeaseMs;
  play(bench, [
    { blocks: [{ id: 'short', tool: 'run_command', input: { command: 'echo begun; sleep 8' } }] },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order({ leaseMs: longLeaseMs });
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  let refused = 0;
  bench.dispatcher.onHeartbeat = () => {
    refused += 1;
    return new CodedError('service_unreachable', 'PostgreSQL cannot be reached.');
  };
  // At four renewals a lease, three leases.
  await bench.dispatcher.until(() => refused >= 12);
  assert.equal(bench.server.status().held.length, 1);
  bench.dispatcher.onHeartbeat = () => null;
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
});

test('processes stand still while nobody renews, with the time that they have, and go on afterwards', async (t) => {
  const bench = await startBench(t);
  bench.dispatcher.leaseMs = 500;
  // Some two seconds of work in a command that may take eight, and an outage that is longer than those.
  const limitSeconds = 8;
  const outageMs = 12_000;
  const loop = 'for i in $(seq 40); do date +%s%N; sleep 0.04; done';
  play(bench, [
    {
      blocks: [{ id: 'count', tool: 'run_command', input: { command: loop, timeout_seconds: limitSeconds } }],
    },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order({ leaseMs: 500 });
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  const until = performance.now() + outageMs;
  bench.dispatcher.onHeartbeat = () => new CodedError('service_unreachable', 'PostgreSQL cannot be reached.');
  await bench.dispatcher.until(() => performance.now() > until, outageMs + 5_000);
  bench.dispatcher.onHeartbeat = () => null;
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  const stamps = outputOf(eventsOf(bench, order.sessionId), 'stdout')
    .trim()
    .split('\n')
    .map((line) => Number(BigInt(line) / 1_000_000n));
  assert.equal(stamps.length, 40, 'it had the time for all of its work');
  const stood = Math.max(...stamps.slice(1).map((at, index) => at - (stamps[index] ?? at)));
  assert.ok(stood > limitSeconds * 1_000, `it stood for ${stood} ms`);
});

test('a session of which only the result is left goes on offering it when it is cut off', async (t) => {
  const bench = await startBench(t);
  bench.dispatcher.leaseMs = longLeaseMs;
  let offered = 0;
  bench.dispatcher.onResult = () => {
    offered += 1;
    return new CodedError('unavailable', 'Not now.');
  };
  const order = bench.order({ leaseMs: longLeaseMs });
  await bench.put(order);
  await bench.dispatcher.until(() => offered > 0);
  await bench.dispatcher.goAway();
  await bench.dispatcher.missed(12);
  bench.dispatcher.onResult = () => null;
  await bench.dispatcher.comeBack();
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});
