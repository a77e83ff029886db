import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import { startBench } from '../../../testing/agent-server-bench.ts';
import type { Bench } from '../../../testing/agent-server-bench.ts';
import {
  callStates,
  eventOf,
  eventsOf,
  patchOf,
  play,
  resultOf,
  resumed,
  settled,
} from '../../../testing/session-script.ts';
import { asked, cliTest, go, interrupted, run, says, told, waitingApproval, write } from './cli-cases.ts';

/** What the program has counted in an attempt: input and output. */
function counted(bench: Bench, { sessionId }: SessionOrder, attempt: number): number[] {
  const last = eventsOf(bench, sessionId, attempt).findLast((event) => event.type === 'reported_usage');
  return last?.type === 'reported_usage' ? [last.inputTokens, last.outputTokens] : [];
}

for (const runtime of ['claude-code', 'codex'] as const)
  for (const cliTools of ['own', 'hosted'] as const)
    suite(`${runtime}, ${cliTools}`, () => {
      const begin = async (t: TestContext, change: Partial<SessionOrder> = {}) => {
        const bench = await startBench(t);
        return { bench, order: bench.order({ runtime, cliTools, ...change }) };
      };

      cliTest(waitingApproval, { runtime, cliTools });

      test('a person pauses in the middle of a command: it is stopped, the program is told and goes on', async (t) => {
        const { bench, order } = await begin(t);
        play(bench, [
          { blocks: [write('a')] },
          { blocks: [run('hang', 'echo begun > begun; sleep 600')] },
          { blocks: [write('b')] },
          says('Done.'),
        ]);
        await bench.put(order);
        await eventOf(
          bench,
          order.sessionId,
          'tool_call',
          (event) => event.callId === 'hang' && event.state === 'calling',
        );
        await bench.command({ ...order, kind: 'pause', reason: 'by_person' });
        await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
        await settled(bench);
        assert.equal(callStates(eventsOf(bench, order.sessionId), 'hang').at(-1), 'canceled');
        await bench.put(resumed(bench, order));
        const result = await resultOf(bench, order.sessionId, 2, 60_000);
        assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
        assert.match(patchOf(result), /\+a[^]*\+b/);
        assert.match(told(bench), /This was stopped[^]*sleep 600/);
      });

      test('a lost server: it goes on from the checkpoint between two turns, and knows what it had done', async (t) => {
        const { bench, order } = await begin(t, { checkpointEveryMs: 1 });
        play(bench, [
          { blocks: [write('a')] },
          { blocks: [run('hang', 'sleep 600')] },
          { blocks: [write('b')] },
          says('Done.'),
        ]);
        await bench.put(order);
        await eventOf(
          bench,
          order.sessionId,
          'tool_call',
          (event) => event.callId === 'hang' && event.state === 'calling',
        );
        assert.ok(bench.dispatcher.checkpoints.some(({ given }) => given.cause === 'interval'));
        await bench.remove(order.sessionId, 1);
        await settled(bench);
        await bench.put(resumed(bench, { ...order, checkpointEveryMs: 600_000 }));
        const result = await resultOf(bench, order.sessionId, 2, 60_000);
        assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
        assert.match(patchOf(result), /\+a[^]*\+b/);
        assert.match(told(bench), /write_a/);
        const ran = asked(bench).filter((id) => id.startsWith('write'));
        assert.deepEqual(ran, ['write_a', 'write_b'], 'what the checkpoint holds is not done again');
      });

      cliTest(interrupted, { runtime, cliTools });
    });

for (const runtime of ['claude-code', 'codex'] as const)
  test(`${runtime}, hosted: a tool of a remote server that waits long is the same call where it goes on, and is carried out once`, async (t) => {
    const bench = await startBench(t);
    const remote = {
      name: 'tracker/find',
      description: 'Finds issues.',
      inputSchema: { type: 'object', properties: { words: { type: 'string' } } },
    };
    const order = bench.order({ runtime, cliTools: 'hosted', remoteTools: [remote] });
    let answer: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };
    bench.dispatcher.onPermit = () => answer;
    const find = (id: string) => ({ id, tool: 'mcp__tracker__find', input: { words: 'sum' } });
    play(bench, [{ blocks: [find('find')] }, { blocks: [find('find_again')] }, says('Done.')]);
    await bench.put(order);
    await bench.dispatcher.until(() => asked(bench).includes('find'), 60_000);
    bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
    await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
    bench.dispatcher.pauses.clear();
    await settled(bench);
    assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'find'), ['generating', 'generated']);

    answer = { ...go, result: { isError: false, text: 'Issue 7 is about sums.' } };
    await bench.put(resumed(bench, order));
    const result = await resultOf(bench, order.sessionId, 2, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    const events = eventsOf(bench, order.sessionId, 2);
    assert.deepEqual(callStates(events, 'find'), ['calling', 'done']);
    assert.deepEqual(callStates(events, 'find_again'), [], 'the same call, not another one');
    assert.deepEqual(asked(bench), ['find']);
    assert.match(told(bench), /Issue 7 is about sums/);
  });

for (const runtime of ['claude-code', 'codex'] as const)
  test(`${runtime}: one that waits for its person is put away, and the message reaches it where it goes on`, async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ runtime, followUps: true });
    let spoken = false;
    bench.dispatcher.onNextMessage = ({ after }) => {
      if (after > 0) return { kind: 'end', reason: 'finished' };
      return spoken ? { kind: 'message', number: 1, text: 'And now b.' } : { kind: 'waiting' };
    };
    play(bench, [{ blocks: [write('a')] }, says('First.'), { blocks: [write('b')] }, says('Second.')]);
    await bench.put(order);
    await eventOf(bench, order.sessionId, 'phase', ({ phase }) => phase === 'waiting');
    bench.dispatcher.pauses.set(order.sessionId, 'awaiting_message');
    await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
    bench.dispatcher.pauses.clear();
    await settled(bench);
    spoken = true;
    await bench.put(resumed(bench, order));
    const result = await resultOf(bench, order.sessionId, 2, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Second.']);
    assert.match(patchOf(result), /\+a[^]*\+b/);
    assert.match(told(bench), /Mend sum\.sh[^]*First\.[^]*And now b\./);
    assert.equal(bench.dispatcher.modelRequests.filter(({ tools }) => (tools ?? []).length > 0).length, 4);
    // Two answers in each attempt, of ten tokens asked and twenty answered.
    for (const attempt of [1, 2]) assert.deepEqual(counted(bench, order, attempt), [20, 40]);
  });

for (const runtime of ['claude-code', 'codex'] as const)
  test(`${runtime}: one whose exchange is held until the budget is extended is put away, and asks again where it goes on`, async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ runtime });
    const error = { type: 'api_error', message: 'A person is asked.', code: 'awaiting_extension' };
    const held: ScriptedTurn = { blocks: [], refuse: { status: 503, body: { error } } };
    let extended = false;
    let turn = 0;
    bench.dispatcher.onModel = () => {
      if (turn === 1 && !extended) return held;
      turn += 1;
      return turn === 1 ? { blocks: [write('a')] } : says('Done.');
    };
    await bench.put(order);
    await bench.dispatcher.until(() => turn === 1 && bench.dispatcher.modelRequests.length > 2, 60_000);
    bench.dispatcher.pauses.set(order.sessionId, 'awaiting_extension');
    await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
    bench.dispatcher.pauses.clear();
    await settled(bench);
    extended = true;
    await bench.put(resumed(bench, order));
    const result = await resultOf(bench, order.sessionId, 2, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    assert.match(patchOf(result), /\+a/);
  });

for (const runtime of ['claude-code', 'codex'] as const)
  for (const cliTools of ['own', 'hosted'] as const)
    test(`${runtime}, ${cliTools}: a session whose budget is used up says how far it came, without tools`, async (t) => {
      const bench = await startBench(t);
      const order = bench.order({ runtime, cliTools, surface: 'terminal' });
      bench.dispatcher.onPermit = ({ callId }) =>
        callId === 'write_b' ? { verdict: 'stop', reason: 'budget_actions', message: 'Used up.' } : go;
      play(bench, [{ blocks: [write('a')] }, { blocks: [write('b')] }, says('I made a, and b is left.')]);
      await bench.put(order);
      const result = await resultOf(bench, order.sessionId, 1, 60_000);
      assert.deepEqual(
        [result.reason, result.message],
        ['budget_actions', 'Used up.\n\nI made a, and b is left.'],
      );
      const { tool_choice: choice } = bench.dispatcher.modelRequests.at(-1) as { tool_choice?: unknown };
      assert.deepEqual(choice, runtime === 'codex' ? 'none' : { type: 'none' });
      assert.doesNotMatch(patchOf(result), /\+b/);

      const second = bench.order({ runtime, cliTools, surface: 'terminal' });
      // who is stopped before anything is on the disk has no last words
      const written =
        'until [ "$(grep -rhs write_a ~/.claude ~/.codex | wc -l)" -ge 2 ]; do sleep 0.05; done';
      play(bench, [
        { blocks: [write('a')] },
        { blocks: [run('look', written)] },
        { blocks: [run('hang', 'sleep 600')] },
        says('It hung.'),
      ]);
      await bench.put(second);
      await eventOf(
        bench,
        second.sessionId,
        'tool_call',
        (event) => event.callId === 'hang' && event.state === 'calling',
      );
      await bench.command({ ...second, kind: 'stop', reason: 'time_budget' });
      const stopped = await resultOf(bench, second.sessionId, 1, 60_000);
      assert.deepEqual([stopped.reason, stopped.message], ['time_budget', 'It hung.']);
    });

for (const runtime of ['claude-code', 'codex'] as const)
  test(`${runtime}: one that hangs is ended, and goes on from its files`, async (t) => {
    const bench = await startBench(t, { programQuietMs: 12_000 });
    const hang = (id: string): ScriptedTurn => ({
      blocks: [
        run(
          id,
          `setsid bash -c "sleep 1; pkill -STOP -f 'opt/lemniscate/c[lo]'" >/dev/null 2>&1 </dev/null & echo ${id}`,
        ),
      ],
    });
    const slow: ScriptedTurn = { ...says('Done.'), pauseMs: 700 };
    const order = bench.order({ runtime });
    play(bench, [{ blocks: [write('a')] }, hang('first'), slow, says('Done.')]);
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId, 1, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    const notices = eventsOf(bench, order.sessionId).flatMap((event) =>
      event.type === 'notice' ? [event.text] : [],
    );
    assert.match(notices.join('\n'), /said nothing for 12 seconds[^]*started again/);
  });
