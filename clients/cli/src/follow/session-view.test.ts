import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createSessionView } from './session-view.ts';

function shown(...events: SessionEvent[]): string {
  return shownWith({}, events);
}

function shownWith(options: { foldFor?: string }, events: readonly SessionEvent[]): string {
  let text = '';
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString('utf8');
      done();
    },
  });
  const view = createSessionView(out, { colour: false, ...options });
  for (const [index, event] of events.entries())
    view.show({ position: index + 1, at: '2026-11-29T00:00:00.000Z', attempt: 1, event });
  view.flush();
  return text;
}

const completed: SessionEvent = {
  type: 'state',
  state: 'completed',
  phase: 'ended',
  reason: 'finished',
  attempt: 1,
  server: null,
  message: 'All pass.\n\n- a\n+ b',
};

test('closing words are shown once', () => {
  const text = shown(
    { type: 'text', turn: 1, text: 'All pass.\n\n- a\n' },
    { type: 'text', turn: 1, text: '+ b' },
    completed,
  );
  assert.equal(text, 'All pass.\n\n- a\n+ b\n◆ completed ended · finished\n');
});

test('a count that comes in the middle of a sentence stands behind it, the latest alone', () => {
  const usage = (outputTokens: number): SessionEvent => ({
    type: 'usage',
    model: 'm',
    priced: true,
    inputTokens: 20,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    totalCostUsd: '0.1',
  });
  const say = (text: string): SessionEvent => ({ type: 'text', turn: 1, text });
  const count = '  20 in · 21 out · 0 cache read · 0 cache write · $0.1\n';
  const sentence = [say('It is the se'), usage(7), usage(21), say('cond one.')];
  assert.equal(shown(...sentence), `It is the second one.\n${count}`);
  assert.equal(
    shown(...sentence, { type: 'notice', text: 'done' }),
    `It is the second one.\n${count}! done\n`,
  );
  assert.equal(shown(say('Done.\n'), usage(21)), `Done.\n${count}`);
});

test('a message that nobody has said yet is shown', () => {
  assert.match(shown(completed), /finished · All pass\./);
});

test('one file is not "1 files"', () => {
  const diff: SessionEvent = { type: 'diff', state: 'offered', files: 1, insertions: 1, deletions: 1 };
  assert.match(shown(diff), /: 1 file, \+1/);
});

const printed: readonly SessionEvent[] = [
  { type: 'tool_call', callId: 'c', turn: 1, tool: 'run_command', state: 'calling', title: 'seq 50' },
  { type: 'output', callId: 'c', stream: 'stdout', text: '1\n2' },
  {
    type: 'output',
    callId: 'c',
    stream: 'stdout',
    text: Array.from({ length: 48 }, (_, index) => `\n${index + 3}`).join(''),
  },
  { type: 'tool_call', callId: 'c', turn: 1, tool: 'run_command', state: 'done', exitCode: 0 },
];
const linesIn = (text: string): string[] => [...text.matchAll(/│ (.*)\n/g)].map(([, line]) => line ?? '');

test('live output is folded and says how to read all of it; a log is shown whole', () => {
  const head = Array.from({ length: 40 }, (_, index) => String(index + 1));
  assert.deepEqual(linesIn(shownWith({ foldFor: 's_1' }, printed)), [
    ...head,
    '… 10 more lines: npx lemniscate logs s_1',
  ]);
  assert.deepEqual(
    linesIn(shownWith({}, printed)),
    Array.from({ length: 50 }, (_, index) => String(index + 1)),
  );
});

test('each of the six states of a tool call has its word and its mark', () => {
  const marks = { generating: '○', generated: '◔', calling: '◑', done: '●', errored: '●', canceled: '●' };
  for (const state of ['generating', 'generated', 'calling', 'done', 'errored', 'canceled'] as const)
    assert.equal(
      shown({ type: 'tool_call', callId: 'c', turn: 1, tool: 'run_command', state }),
      `${marks[state]} run_command  ${state}\n`,
    );
});
