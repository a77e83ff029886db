import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import { startBench } from '../../../testing/agent-server-bench.ts';
import { eventsOf, patchOf } from '../../../testing/session-script.ts';
import {
  answered,
  cliTest,
  cutStream,
  end,
  exhaustedBudget,
  furtherMessage,
  overloaded,
  says,
  stopped,
  write,
} from './cli-cases.ts';

const done = says('Done.');

async function begin(t: TestContext, change: Partial<SessionOrder>) {
  const bench = await startBench(t);
  return { bench, order: bench.order(change) };
}

for (const runtime of ['claude-code', 'codex'] as const)
  suite(`${runtime} under a model that fails`, () => {
    cliTest(overloaded, { runtime });

    cliTest(cutStream, { runtime });

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

    cliTest(stopped, { runtime });

    cliTest(exhaustedBudget, { runtime });

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

    cliTest(answered, { runtime });

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

    cliTest(furtherMessage, { runtime });

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
