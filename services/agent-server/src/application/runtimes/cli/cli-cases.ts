import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import type { Config } from '../../../config.ts';
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

/** A command-line program, and whose tools it uses. */
export interface CliVariant {
  readonly runtime: 'claude-code' | 'codex';
  readonly cliTools?: 'own' | 'hosted';
}

/** What both programs have to do in the sandbox of each driver. */
export interface CliCase {
  readonly title: string;
  readonly order?: Partial<SessionOrder>;
  run(bench: Bench, order: SessionOrder, variant: CliVariant): Promise<void>;
}

/** Runs a case as a test, on a server with this configuration. */
export function cliTest(
  { title, order, run }: CliCase,
  variant: CliVariant,
  configOf: (t: TestContext) => Partial<Config> = () => ({}),
): void {
  test(title, async (t) => {
    const bench = await startBench(t, configOf(t));
    await run(bench, bench.order({ ...variant, ...order }), variant);
  });
}

export const write = (name: string) => ({
  id: `write_${name}`,
  tool: 'write_file',
  input: { path: name, content: `${name}\n` },
});
export const run = (id: string, command: string) => ({ id, tool: 'run_command', input: { command } });
export const says = (text: string): ScriptedTurn => ({ blocks: [{ text }] });
export const go: Extract<PermitAnswer, { readonly verdict: 'go' }> = {
  verdict: 'go',
  decidedBy: 'human',
  reasons: [],
};
/** What the program told its model last. */
export const told = (bench: Bench): string => JSON.stringify(bench.dispatcher.modelRequests.at(-1));
/** The calls that a permit was asked for. */
export const asked = (bench: Bench): string[] => [
  ...new Set(bench.dispatcher.permits.map(({ callId }) => callId)),
];

const refuse = (status: number): ScriptedTurn => ({
  blocks: [],
  refuse: {
    status,
    body: { type: 'error', error: { type: 'overloaded_error', message: `Scripted ${status}` } },
    headers: { 'retry-after': '0' },
  },
});

/** Plays the turns to the session's end. */
export async function end(bench: Bench, order: SessionOrder, turns: readonly ScriptedTurn[]) {
  play(bench, turns);
  await bench.put(order);
  return resultOf(bench, order.sessionId, order.attempt, 60_000);
}

export const waitingApproval: CliCase = {
  title:
    'an approval that waits long: put away, and the decision counts once for the same call where it goes on',
  run: async (bench, order) => {
    let answer: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };
    bench.dispatcher.onPermit = ({ callId }) => (callId === 'write_b' ? answer : go);
    play(bench, [
      { blocks: [write('a')] },
      { blocks: [write('b')] },
      { blocks: [{ ...write('b'), id: 'write_b_again' }] },
      says('Done.'),
    ]);
    await bench.put(order);
    await bench.dispatcher.until(() => asked(bench).includes('write_b'), 60_000);
    bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
    await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
    bench.dispatcher.pauses.clear();
    await settled(bench);
    assert.deepEqual(await bench.leftovers(), [], 'nothing of it is left on its server');
    assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'write_b'), ['generating', 'generated']);

    answer = go;
    await bench.put(resumed(bench, order));
    const result = await resultOf(bench, order.sessionId, 2, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    assert.match(patchOf(result), /\+a[^]*\+b/);
    const events = eventsOf(bench, order.sessionId, 2);
    assert.deepEqual(callStates(events, 'write_b'), ['calling', 'done']);
    assert.deepEqual(callStates(events, 'write_b_again'), [], 'the same call, not another one');
    assert.deepEqual(asked(bench), ['write_a', 'write_b']);
    assert.match(told(bench), /Mend sum\.sh/, 'it knows what it was told');
    assert.match(told(bench), /write_a/, 'and what it did');
  },
};

export const interrupted: CliCase = {
  title: 'an interrupt cancels what was asked for, is nobody’s rejection, and the next message goes on',
  order: { interactive: true },
  run: async (bench, order, { runtime, cliTools }) => {
    const message = Promise.withResolvers<void>();
    let spoken = false;
    bench.dispatcher.onNextMessage = ({ after }) => {
      message.resolve();
      if (after > 0) return { kind: 'end', reason: 'finished' };
      return spoken ? { kind: 'message', number: 1, text: 'And now b.' } : { kind: 'waiting' };
    };
    play(bench, [
      { blocks: [run('hang', 'echo begun; sleep 600'), write('never')] },
      { blocks: [write('b')] },
      says('Second.'),
    ]);
    await bench.put(order);
    await eventOf(
      bench,
      order.sessionId,
      'tool_call',
      (event) => event.callId === 'hang' && event.state === 'calling',
    );
    await bench.command({ ...order, kind: 'interrupt', reason: 'by_person' });
    await message.promise;
    const events = eventsOf(bench, order.sessionId);
    assert.equal(callStates(events, 'hang').at(-1), 'canceled');
    assert.ok(
      !['generating', 'generated', 'calling'].includes(callStates(events, 'write_never').at(-1) ?? 'none'),
    );
    assert.ok(
      !events.some(
        (event) => event.type === 'tool_call' && event.state === 'canceled' && event.decidedBy !== undefined,
      ),
    );
    spoken = true;
    const result = await resultOf(bench, order.sessionId, 1, 60_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Second.']);
    assert.match(patchOf(result), /\+b/);
    // Codex runs what one answer asks for at the same time, so that it was done before.
    if (runtime !== 'codex' || cliTools === 'hosted') assert.doesNotMatch(patchOf(result), /never/);
    assert.match(told(bench), /And now b\./);
  },
};

export const overloaded: CliCase = {
  title: 'asks again after 429, 500 and 529 and goes on',
  run: async (bench, order) => {
    const result = await end(bench, order, [
      refuse(429),
      { blocks: [write('a')] },
      refuse(500),
      refuse(529),
      says('Done.'),
    ]);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    assert.match(patchOf(result), /\+a/);
  },
};

export const cutStream: CliCase = {
  title: 'a stream that is cut before anything is whole is repeated, and nothing runs twice',
  run: async (bench, order) => {
    const result = await end(bench, order, [
      { blocks: [{ text: 'I think about it.' }, write('a')], cutAfter: 2 },
      { blocks: [write('b')] },
      says('Done.'),
    ]);
    assert.equal(result.reason, 'finished', result.message);
    assert.deepEqual(
      bench.dispatcher.permits.map(({ callId }) => callId),
      ['write_b'],
    );
  },
};

export const stopped: CliCase = {
  title: 'is stopped while its model stalls',
  run: async (bench, order) => {
    play(bench, [{ blocks: [{ text: 'I begin and fall silent.' }], stallAfter: 3 }]);
    await bench.put(order);
    await bench.dispatcher.until(() => bench.dispatcher.modelRequests.length > 0, 60_000);
    await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'stopped' });
    assert.equal((await resultOf(bench, order.sessionId)).reason, 'stopped');
  },
};

export const exhaustedBudget: CliCase = {
  title: 'an exhausted budget ends the session for that budget',
  run: async (bench, order) => {
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
  },
};

export const furtherMessage: CliCase = {
  title: 'a further message of its person goes on with what it knows',
  order: { followUps: true },
  run: async (bench, order) => {
    bench.dispatcher.onNextMessage = ({ after }) =>
      after === 0 ? { kind: 'message', number: 1, text: 'And now b.' } : { kind: 'end', reason: 'finished' };
    const result = await end(bench, order, [
      { blocks: [write('a')] },
      says('First.'),
      { blocks: [write('b')] },
      says('Second.'),
    ]);
    assert.deepEqual([result.reason, result.message], ['finished', 'Second.']);
    assert.match(patchOf(result), /\+a[^]*\+b/);
    assert.match(told(bench), /And now b\./);
  },
};

export const answered: CliCase = {
  title:
    'a refusal and a wait of its person are told to it, and a rejection that ends the loop ends the session',
  order: { interactive: true },
  run: async (bench, order) => {
    let times = 0;
    bench.dispatcher.onPermit = ({ callId }) => {
      times += 1;
      if (callId === 'write_a' && times < 4) return { verdict: 'waiting', approvalId: 'a1' };
      if (callId === 'write_a') return go;
      return {
        verdict: 'rejected',
        decidedBy: 'human',
        message: 'Not that one.',
        endsLoop: true,
        reason: 'tool_rejected',
      };
    };
    const result = await end(bench, order, [
      { blocks: [write('a')] },
      { blocks: [write('b')] },
      says('Done.'),
    ]);
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
  },
};
