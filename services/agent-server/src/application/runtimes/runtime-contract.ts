import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import { intermediateToolCallStates } from '@lemniscate/shared/tool-call/state.ts';
import { startBench } from '../../testing/agent-server-bench.ts';
import type { Bench } from '../../testing/agent-server-bench.ts';
import {
  callStates,
  eventOf,
  eventsOf,
  patchOf,
  play,
  resultOf,
  settled,
} from '../../testing/session-script.ts';

const write = { id: 'write', tool: 'write_file', input: { path: 'made', content: 'by the agent\n' } };
const hang = { id: 'hang', tool: 'run_command', input: { command: 'echo begun; sleep 600' } };

/** A runtime, and for one that is a program in the sandbox whose tools it uses. */
export interface RuntimeVariant {
  readonly runtime: RuntimeName;
  readonly cliTools?: 'own' | 'hosted';
}

/** What every runtime has to do, driven through a whole agent server with a model by script. */
export function runtimeContract(variant: RuntimeVariant): void {
  const start = async (t: TestContext) => {
    const bench = await startBench(t);
    return { bench, order: bench.order(variant) };
  };

  suite(`runtime ${Object.values(variant).join(', ')}`, () => {
    test('works in the copy, asks for a permit before each call, and ends with its words', async (t) => {
      const { bench, order } = await start(t);
      play(bench, [{ blocks: [write] }, { blocks: [{ text: 'I made it.' }] }]);
      await bench.put(order);
      const result = await resultOf(bench, order.sessionId);
      assert.deepEqual([result.reason, result.message], ['finished', 'I made it.']);
      assert.match(patchOf(result), /\+by the agent/);
      assert.deepEqual(
        bench.dispatcher.permits.map(({ tool }) => tool),
        ['write_file'],
      );
    });

    test('does nothing without a permit', async (t) => {
      const { bench, order } = await start(t);
      bench.dispatcher.onPermit = () => ({ verdict: 'stop', reason: 'budget_actions', message: 'Used up.' });
      play(bench, [{ blocks: [write] }]);
      await bench.put(order);
      const result = await resultOf(bench, order.sessionId);
      assert.deepEqual(
        [result.reason, result.message, result.diff?.files],
        ['budget_actions', 'Used up.', []],
      );
    });

    test('stops at once, with no call left in between', async (t) => {
      const { bench, order } = await start(t);
      play(bench, [{ blocks: [hang, write] }]);
      await bench.put(order);
      await eventOf(bench, order.sessionId, 'tool_call', ({ state }) => state === 'calling');
      const began = performance.now();
      await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'time_budget' });
      assert.equal((await resultOf(bench, order.sessionId)).reason, 'time_budget');
      assert.ok(performance.now() - began < 5000);
      noneInBetween(bench, order.sessionId);
    });

    test('takes no new action while its lease has ended, and goes on when it is renewed', async (t) => {
      const { bench, order } = await start(t);
      bench.dispatcher.leaseMs = 1;
      play(bench, [{ blocks: [write] }, { blocks: [{ text: 'Done.' }] }]);
      await bench.put({ ...order, leaseMs: 1 });
      await eventOf(bench, order.sessionId, 'running');
      await bench.dispatcher.until(
        () => bench.dispatcher.heartbeats.filter(({ held }) => held.length === 1).length >= 2,
      );
      assert.equal(bench.dispatcher.modelRequests.length, 0);
      bench.dispatcher.leaseMs = 15_000;
      assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
    });

    test('a model that fails for good is model_failed, and the work so far is offered', async (t) => {
      const { bench, order } = await start(t);
      play(bench, [
        { blocks: [write] },
        { blocks: [], refuse: { status: 403, body: { error: { message: 'no more' } } } },
      ]);
      await bench.put(order);
      const result = await resultOf(bench, order.sessionId);
      assert.equal(result.reason, 'model_failed');
      assert.match(patchOf(result), /\+by the agent/);
      await settled(bench);
      assert.deepEqual(await bench.leftovers(), []);
    });
  });
}

function noneInBetween(bench: Bench, sessionId: string): void {
  const events = eventsOf(bench, sessionId);
  const ids = new Set(events.flatMap((event) => (event.type === 'tool_call' ? [event.callId] : [])));
  assert.ok(ids.size > 0);
  for (const id of ids) {
    const last = callStates(events, id).at(-1);
    assert.ok(!intermediateToolCallStates.some((state) => state === last), `${id} is ${last}`);
  }
}
