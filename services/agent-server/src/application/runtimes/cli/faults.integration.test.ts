import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import { startBench } from '../../../testing/agent-server-bench.ts';
import type { Bench } from '../../../testing/agent-server-bench.ts';
import { eventsOf, patchOf, play, resultOf } from '../../../testing/session-script.ts';

const write = (name: string) => ({
  id: `write_${name}`,
  tool: 'write_file',
  input: { path: name, content: `${name}\n` },
});
const done: ScriptedTurn = { blocks: [{ text: 'Done.' }] };
const refuse = (status: number): ScriptedTurn => ({
  blocks: [],
  refuse: {
    status,
    body: { type: 'error', error: { type: 'overloaded_error', message: `Scripted ${status}` } },
    headers: { 'retry-after': '0' },
  },
});

async function begin(t: TestContext, change: Partial<SessionOrder>) {
  const bench = await startBench(t);
  return { bench, order: bench.order(change) };
}

async function end(bench: Bench, order: SessionOrder, turns: readonly ScriptedTurn[]) {
  play(bench, turns);
  await bench.put(order);
  return bench.dispatcher.until(
    () => bench.dispatcher.results.find((entry) => entry.sessionId === order.sessionId)?.result,
    60_000,
  );
}

for (const runtime of ['claude-code', 'codex'] as const)
  suite(`${runtime} under a model that fails`, () => {
    test('asks again after 429, 500 and 529 and goes on', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const result = await end(bench, order, [
        refuse(429),
        { blocks: [write('a')] },
        refuse(500),
        refuse(529),
        done,
      ]);
      assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
      assert.match(patchOf(result), /\+a/);
    });

    test('a stream that is cut before anything is whole is repeated, and nothing runs twice', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const result = await end(bench, order, [
        { blocks: [{ text: 'I think about it.' }, write('a')], cutAfter: 2 },
        { blocks: [write('b')] },
        done,
      ]);
      assert.equal(result.reason, 'finished', result.message);
      assert.deepEqual(
        bench.dispatcher.permits.map(({ callId }) => callId),
        ['write_b'],
      );
    });

    test('a stream that falls silent is cut by the gateway and repeated, and nothing runs twice', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const silent = { blocks: [{ text: 'I think about it.' }, write('a')], stallAfter: 2, stallMs: 500 };
      const result = await end(bench, order, [silent, { blocks: [write('b')] }, done]);
      assert.equal(result.reason, 'finished', result.message);
      assert.deepEqual(
        bench.dispatcher.permits.map(({ callId }) => callId),
        ['write_b'],
      );
    });

    test('is stopped while its model stalls', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      play(bench, [{ blocks: [{ text: 'I begin and fall silent.' }], stallAfter: 3 }]);
      await bench.put(order);
      await bench.dispatcher.until(() => bench.dispatcher.modelRequests.length > 0, 60_000);
      await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'stopped' });
      assert.equal((await resultOf(bench, order.sessionId)).reason, 'stopped');
    });

    test('an exhausted budget ends the session for that budget', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const message = 'The session has used up its budget_tokens.';
      const result = await end(bench, order, [
        { blocks: [write('a')] },
        ...Array.from({ length: 12 }, () => ({
          blocks: [],
          refuse: { status: 402, body: { type: 'error', error: { type: 'billing_error', message } } },
        })),
      ]);
      assert.deepEqual([result.reason, result.message], ['budget_tokens', message]);
      assert.match(patchOf(result), /\+a/);
    });

    test('waits while a person is asked to extend the budget, and the program notices nothing', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const held = {
        blocks: [],
        refuse: {
          status: 503,
          body: { error: { type: 'api_error', message: 'A person is asked.', code: 'awaiting_extension' } },
        },
      };
      const result = await end(bench, order, [held, held, { blocks: [write('a')] }, held, done]);
      assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    });

    test('a refusal and a wait of its person are told to it, and a rejection that ends the loop ends the session', async (t) => {
      const { bench, order } = await begin(t, { runtime, interactive: true });
      let asked = 0;
      bench.dispatcher.onPermit = ({ callId }) => {
        asked += 1;
        if (callId === 'write_a' && asked < 4) return { verdict: 'waiting', approvalId: 'a1' };
        if (callId === 'write_a') return { verdict: 'go', decidedBy: 'human', reasons: [] };
        return {
          verdict: 'rejected',
          decidedBy: 'human',
          message: 'Not that one.',
          endsLoop: true,
          reason: 'tool_rejected',
        };
      };
      const result = await end(bench, order, [{ blocks: [write('a')] }, { blocks: [write('b')] }, done]);
      assert.deepEqual([result.reason, result.message], ['tool_rejected', 'Not that one.']);
      assert.match(patchOf(result), /\+a/);
      assert.doesNotMatch(patchOf(result), /\+b/);
      const events = eventsOf(bench, order.sessionId);
      const of = (callId: string) =>
        events.flatMap((event) =>
          event.type === 'tool_call' && event.callId === callId
            ? [[event.state, event.decidedBy ?? null, event.reported ?? null]]
            : [],
        );
      assert.deepEqual(of('write_a'), [
        ['generating', null, true],
        ['generated', null, true],
        ['calling', 'human', true],
        ['done', null, true],
      ]);
      assert.deepEqual(of('write_b'), [
        ['generating', null, true],
        ['generated', null, true],
        ['canceled', 'human', true],
      ]);
      assert.ok(events.some((event) => event.type === 'phase' && event.phase === 'waiting'));
    });

    test('a rejection stops the loop of a session that stays, and its person says what to do instead', async (t) => {
      for (const cliTools of ['own', 'hosted'] as const) {
        const { bench, order } = await begin(t, { runtime, cliTools, interactive: true, followUps: true });
        bench.dispatcher.onPermit = () => ({
          verdict: 'rejected',
          decidedBy: 'human',
          message: 'Not that one.',
          endsLoop: true,
          reason: 'tool_rejected',
        });
        bench.dispatcher.onNextMessage = ({ after }) =>
          after === 0
            ? { kind: 'message', number: 1, text: 'Only say what you see.' }
            : { kind: 'end', reason: 'finished' };
        let asked = false;
        // It may have asked again before the interrupt was there.
        bench.dispatcher.onModel = (request) => {
          if (JSON.stringify(request).includes('Only say what you see.'))
            return { blocks: [{ text: 'A folder.' }] };
          const turn = asked ? { blocks: [{ text: 'I go on alone.' }] } : { blocks: [write('b')] };
          asked = true;
          return turn;
        };
        await bench.put(order);
        const result = await bench.dispatcher.until(() => bench.dispatcher.results[0]?.result, 60_000);
        assert.deepEqual([result.reason, result.message], ['finished', 'A folder.']);
        assert.doesNotMatch(patchOf(result), /\+b/);
        const last = eventsOf(bench, order.sessionId).findLast((event) => event.type === 'tool_call');
        assert.deepEqual([last?.state, last?.decidedBy], ['canceled', 'human']);
      }
    });

    test('a further message of its person goes on with what it knows', async (t) => {
      const { bench, order } = await begin(t, { runtime, followUps: true });
      bench.dispatcher.onNextMessage = ({ after }) =>
        after === 0
          ? { kind: 'message', number: 1, text: 'And now b.' }
          : { kind: 'end', reason: 'finished' };
      const result = await end(bench, order, [
        { blocks: [write('a')] },
        { blocks: [{ text: 'First.' }] },
        { blocks: [write('b')] },
        { blocks: [{ text: 'Second.' }] },
      ]);
      assert.deepEqual([result.reason, result.message], ['finished', 'Second.']);
      assert.match(patchOf(result), /\+a[^]*\+b/);
      assert.match(JSON.stringify(bench.dispatcher.modelRequests.at(-1)), /And now b\./);
    });

    test('a program that is killed goes on from its own session files; one that dies again and again ends the session', async (t) => {
      const { bench, order } = await begin(t, { runtime });
      const kill = (id: string, until = 'true'): ScriptedTurn => ({
        blocks: [
          {
            id,
            tool: 'run_command',
            input: {
              command: `until ${until}; do :; done; pkill -9 -f 'opt/lemniscate/c[lo]' ; sleep 60 # ${id}`,
            },
          },
        ],
      });
      // Claude Code writes its session file up to a tenth of a second behind itself: a call and its result are there first.
      const written = '[ "$(grep -rhs write_a ~/.claude ~/.codex | wc -l)" -ge 2 ]';
      const result = await end(bench, order, [{ blocks: [write('a')] }, kill('first', written), done]);
      assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
      assert.match(patchOf(result), /\+a/);
      const last = JSON.stringify(bench.dispatcher.modelRequests.at(-1));
      assert.match(last, /Mend sum\.sh/, 'it knows what it was told');
      assert.match(last, /write_a/, 'and what it did');
      const events = eventsOf(bench, order.sessionId);
      assert.ok(events.some((event) => event.type === 'notice' && /started again/.test(event.text)));
      const states = events.flatMap((event) =>
        event.type === 'tool_call' && event.callId === 'first' ? [event.state] : [],
      );
      assert.equal(states.at(-1), 'canceled');

      const other = bench.order({ runtime });
      const failed = await end(bench, other, [kill('one'), kill('two'), kill('three'), done]);
      assert.equal(failed.reason, 'runtime_failed');
      assert.match(failed.message, /ended without a result/);
    });
  });

test('Claude Code repeats a cut answer without streaming, and gets it', async (t) => {
  const { bench, order } = await begin(t, { runtime: 'claude-code' });
  const result = await end(bench, order, [
    { blocks: [{ text: 'I begin with this.' }], cutAfter: 2 },
    { blocks: [{ text: 'Here it is.' }] },
  ]);
  assert.deepEqual([result.reason, result.message], ['finished', 'Here it is.']);
  assert.deepEqual(
    bench.dispatcher.modelRequests.map((request) => (request as { stream?: boolean }).stream === true),
    [true, false],
  );
});

test('garbage in a stream is the model’s failure or is survived, never the server’s', async (t) => {
  for (const runtime of ['claude-code', 'codex'] as const) {
    const { bench, order } = await begin(t, { runtime });
    const result = await end(bench, order, [
      { blocks: [write('a')], garbageAfter: 1 },
      { blocks: [write('b')] },
      done,
      done,
    ]);
    assert.ok(
      ['finished', 'model_failed'].includes(result.reason),
      `${runtime}: ${result.reason} ${result.message}`,
    );
  }
});
