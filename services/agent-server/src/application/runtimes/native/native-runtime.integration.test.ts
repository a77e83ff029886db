import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startBench } from '../../../testing/agent-server-bench.ts';
import { eventOf, eventsOf, play, resultOf } from '../../../testing/session-script.ts';

const write = { id: 'write', tool: 'write_file', input: { path: 'made', content: 'x\n' } };
const hang = { id: 'hang', tool: 'run_command', input: { command: 'echo begun; sleep 600' } };

suite('the native loop', () => {
  test('on the terminal a session whose budget is used up says how far it came, without tools', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ surface: 'terminal' });
    bench.dispatcher.onPermit = () => ({ verdict: 'stop', reason: 'budget_actions', message: 'Used up.' });
    play(bench, [{ blocks: [write] }, { blocks: [{ text: 'I wanted to write a file.' }] }]);
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId);
    assert.equal(result.reason, 'budget_actions');
    assert.match(result.message, /Used up\.\s+I wanted to write a file\./);
    const last = bench.dispatcher.modelRequests.at(-1);
    assert.deepEqual(last?.tool_choice, { type: 'none' });
    const content = last?.messages.at(-1)?.content ?? [];
    assert.deepEqual(
      content.map((block) => [block['type'], block['tool_use_id'] ?? null]),
      [
        ['tool_result', 'write'],
        ['text', null],
      ],
    );
  });

  test('also when the stop comes while a command hangs; and it ends without words when the model has none', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ surface: 'terminal' });
    play(bench, [{ blocks: [hang] }, { blocks: [{ text: 'The command hung.' }] }]);
    await bench.put(order);
    await eventOf(bench, order.sessionId, 'output');
    await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'time_budget' });
    const result = await resultOf(bench, order.sessionId);
    assert.deepEqual([result.reason, result.message], ['time_budget', 'The command hung.']);

    const mute = bench.order({ surface: 'terminal' });
    bench.dispatcher.onPermit = () => ({ verdict: 'stop', reason: 'budget_actions', message: 'Used up.' });
    play(bench, [{ blocks: [write] }]);
    await bench.put(mute);
    assert.equal((await resultOf(bench, mute.sessionId)).message, 'Used up.');
  });

  test('elsewhere it just ends', async (t) => {
    const bench = await startBench(t);
    for (const [surface, reason] of [
      ['api', 'budget_actions'],
      ['ide', 'budget_cost'],
    ] as const) {
      const order = bench.order({ surface });
      bench.dispatcher.onPermit = () => ({ verdict: 'stop', reason, message: 'Used up.' });
      play(bench, [{ blocks: [write] }, { blocks: [{ text: 'More words.' }] }]);
      await bench.put(order);
      assert.equal((await resultOf(bench, order.sessionId)).message, 'Used up.');
    }
  });

  test('an interrupt cancels what runs and what was asked for, rejects nothing, and waits for the person', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ interactive: true });
    bench.dispatcher.onNextMessage = ({ after }) =>
      after === 0
        ? { kind: 'message', number: 1, text: 'Say what you did.' }
        : { kind: 'end', reason: 'finished' };
    play(bench, [{ blocks: [hang, write] }, { blocks: [{ text: 'I waited.' }] }]);
    await bench.put(order);
    await eventOf(bench, order.sessionId, 'output');
    await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'interrupt', reason: '' });
    const result = await resultOf(bench, order.sessionId);
    assert.deepEqual([result.reason, result.message], ['finished', 'I waited.']);
    assert.equal(result.diff?.files.length ?? 0, 0, 'the second call never ran');
    const answers = bench.dispatcher.modelRequests[1]?.messages.at(-2)?.content ?? [];
    assert.deepEqual(
      answers.map((block) => [block['tool_use_id'], block['is_error']]),
      [
        ['hang', true],
        ['write', true],
      ],
    );
    const ends = eventsOf(bench, order.sessionId).flatMap((event) =>
      event.type === 'tool_call' && event.state === 'canceled' ? [event.tool] : [],
    );
    assert.deepEqual(ends, ['run_command', 'write_file']);
  });

  test('on the terminal a request is shown while it is written, elsewhere when it is whole; both run the whole', async (t) => {
    const bench = await startBench(t);
    const command = `echo ${'abcdefghij'.repeat(20)}`;
    for (const surface of ['terminal', 'ide'] as const) {
      const order = bench.order({ surface });
      play(bench, [
        { blocks: [{ id: 'echo', tool: 'run_command', input: { command } }] },
        { blocks: [{ text: 'Done.' }] },
      ]);
      await bench.put(order);
      assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
      const calls = eventsOf(bench, order.sessionId).filter((event) => event.type === 'tool_call');
      const growing = calls.flatMap(({ state, title }) =>
        state === 'generating' && title !== undefined ? [title] : [],
      );
      assert.equal(growing.length > 1, surface === 'terminal', growing.join('|'));
      assert.ok(growing.length < 15 && growing.every((title) => command.startsWith(title)));
      assert.deepEqual(
        calls.filter(({ state }) => state !== 'generating').map(({ state }) => state),
        ['generated', 'calling', 'done'],
      );
    }
    assert.deepEqual(
      bench.dispatcher.permits.map((permit) => permit.arguments),
      [{ command }, { command }],
    );
  });

  test('a rejection stops the loop of a session that stays, and its person says what to do instead', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ interactive: true, followUps: true });
    bench.dispatcher.onPermit = () => ({
      verdict: 'rejected',
      decidedBy: 'human',
      message: 'Not that.',
      endsLoop: true,
      reason: 'tool_rejected',
    });
    bench.dispatcher.onNextMessage = ({ after }) =>
      after === 0
        ? { kind: 'message', number: 1, text: 'Just say what you see.' }
        : { kind: 'end', reason: 'finished' };
    const second = { ...write, id: 'second' };
    play(bench, [{ blocks: [write, second] }, { blocks: [{ text: 'A folder.' }] }]);
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId);
    assert.deepEqual([result.reason, result.message], ['finished', 'A folder.']);
    assert.deepEqual(result.diff?.files, []);
    const answers = bench.dispatcher.modelRequests[1]?.messages.at(-2)?.content ?? [];
    assert.deepEqual(
      answers.map((block) => [block['tool_use_id'], block['is_error']]),
      [
        ['write', true],
        ['second', true],
      ],
    );
    assert.match(JSON.stringify(answers), /Not that\..*rejected a request before it/s);
    const decided = eventsOf(bench, order.sessionId).flatMap((event) =>
      event.type === 'tool_call' && event.state === 'canceled' ? [[event.callId, event.decidedBy]] : [],
    );
    assert.deepEqual(decided, [
      ['write', 'human'],
      ['second', undefined],
    ]);
  });

  test('a session that stays asks for its person’s next message and goes on with what it knows', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ followUps: true });
    const texts = ['And write a file.'];
    bench.dispatcher.onNextMessage = ({ after }) => {
      const text = texts[after];
      return text === undefined
        ? { kind: 'end', reason: 'finished' }
        : { kind: 'message', number: after + 1, text };
    };
    play(bench, [{ blocks: [{ text: 'Hello.' }] }, { blocks: [write] }, { blocks: [{ text: 'Written.' }] }]);
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId);
    assert.deepEqual([result.reason, result.message, result.diff?.files.length], ['finished', 'Written.', 1]);
    const said = bench.dispatcher.modelRequests[1]?.messages.map(
      ({ role, content }) => `${role}: ${String(content[0]?.['text'])}`,
    );
    assert.deepEqual(said?.slice(1), ['assistant: Hello.', 'user: And write a file.']);
  });

  test('a conversation that is too long is cut short in the middle of the loop, and calls keep their results', async (t) => {
    const bench = await startBench(t);
    const order = bench.order({ instruction: 'Fill the folder.', compactAtTokens: 5_000 });
    const steps = Array.from({ length: 8 }, (_, index) => ({
      blocks: [
        {
          id: `w${index}`,
          tool: 'write_file',
          input: { path: `f${index}`, content: `${'x'.repeat(4_000)}\n` },
        },
      ],
    }));
    const notes = { blocks: [{ text: 'I wrote some files.' }] };
    // the fifth request is the first that is too long
    play(bench, [...steps.slice(0, 4), notes, ...steps.slice(4, 5), { blocks: [{ text: 'Done.' }] }]);
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    const requests = bench.dispatcher.modelRequests;
    const asked = requests.findIndex(({ tool_choice: choice }) => choice?.type === 'none');
    assert.ok(asked > 0, 'the notes were asked for without tools');
    const next = requests[asked + 1];
    const first = next?.messages[0]?.content ?? [];
    assert.equal(first[0]?.['text'], 'Fill the folder.');
    assert.match(String(first[1]?.['text']), /- write_file f0: done[\s\S]*I wrote some files\./);
    const open = (next?.messages ?? []).flatMap(({ content }) =>
      content.flatMap((block) => (block['type'] === 'tool_use' ? [block['id']] : [])),
    );
    const answered = (next?.messages ?? []).flatMap(({ content }) =>
      content.flatMap((block) => (block['type'] === 'tool_result' ? [block['tool_use_id']] : [])),
    );
    assert.deepEqual(open, answered);
    assert.ok(JSON.stringify(next).length < JSON.stringify(requests[asked - 1]).length * 1.5);
    const event = await eventOf(bench, order.sessionId, 'compaction');
    assert.ok(event.messages > 1);
  });

  test('what the dispatcher carries out itself is told to the model, and nothing runs', async (t) => {
    const bench = await startBench(t);
    const order = bench.order();
    bench.dispatcher.onPermit = () => ({
      verdict: 'go',
      decidedBy: 'automation',
      reasons: [],
      result: { isError: false, text: 'The tests are fine.' },
    });
    play(bench, [
      { blocks: [{ id: 'd', tool: 'delegate', input: { task: 'look at the tests' } }] },
      { blocks: [{ text: 'Heard.' }] },
    ]);
    await bench.put(order);
    assert.equal((await resultOf(bench, order.sessionId)).message, 'Heard.');
    const told = bench.dispatcher.modelRequests[1]?.messages.at(-1)?.content[0];
    assert.deepEqual(told?.['content'], [{ type: 'text', text: 'The tests are fine.' }]);
  });
});
