import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { shownLine } from './plain-text.ts';
import { addOutput, createTimeline, maxLines } from './timeline.ts';
import type { Lines } from './timeline.ts';
import { foldedLines, linesPerRow, rowsOf } from './timeline-rows.ts';

const at = '2026-11-29T10:00:00.000Z';

function play(...events: readonly SessionEvent[]) {
  const timeline = createTimeline();
  events.forEach((event, index) => timeline.push({ position: index + 1, at, attempt: 1, event }));
  return timeline;
}

test('fragments of text become one item, and a call gathers its states', () => {
  const timeline = play(
    { type: 'turn', turn: 1 },
    { type: 'text', turn: 1, text: 'Let me ' },
    { type: 'text', turn: 1, text: 'look.' },
    { type: 'tool_call', callId: 'c1', turn: 1, tool: 'run_command', state: 'generating' },
    { type: 'tool_call', callId: 'c1', turn: 1, tool: 'run_command', state: 'generated', title: 'npm test' },
    {
      type: 'tool_call',
      callId: 'c1',
      turn: 1,
      tool: 'run_command',
      state: 'calling',
      decidedBy: 'automation',
    },
    { type: 'output', callId: 'c1', stream: 'stdout', text: 'one\ntw' },
    { type: 'output', callId: 'c1', stream: 'stdout', text: 'o\n' },
    {
      type: 'tool_call',
      callId: 'c1',
      turn: 1,
      tool: 'run_command',
      state: 'done',
      exitCode: 1,
      durationMs: 12,
    },
  );
  assert.deepEqual(
    timeline.items.map((item) => item.kind),
    ['text', 'call'],
  );
  const [text, call] = timeline.items;
  assert.equal(text?.kind === 'text' && text.text, 'Let me look.');
  assert.ok(call?.kind === 'call');
  assert.deepEqual(
    [call.title, call.state, call.exitCode, call.decidedBy],
    ['npm test', 'done', 1, 'automation'],
  );
  assert.deepEqual(call.output.lines, ['one', 'two']);
});

test('an event that comes twice counts once', () => {
  const timeline = createTimeline();
  const event: PositionedEvent = { position: 1, at, attempt: 1, event: { type: 'text', turn: 1, text: 'a' } };
  timeline.push(event);
  timeline.push(event);
  assert.equal(timeline.items.length, 1);
  assert.equal(timeline.items[0]?.kind === 'text' && timeline.items[0].text, 'a');
});

test('the same call in another attempt is another item', () => {
  const timeline = createTimeline();
  for (const attempt of [1, 2])
    timeline.push({
      position: attempt,
      at,
      attempt,
      event: { type: 'tool_call', callId: 'c', turn: 1, tool: 'read_file', state: 'generating' },
    });
  assert.equal(timeline.items.length, 2);
});

test('an approval stands with its call', () => {
  const timeline = play(
    { type: 'tool_call', callId: 'c1', turn: 1, tool: 'run_command', state: 'generated', title: 'make' },
    {
      type: 'approval',
      approvalId: 'apr_1',
      callId: 'c1',
      state: 'waiting',
      tool: 'run_command',
      title: 'make',
      argumentsDigest: 'd',
      reasons: [],
    },
  );
  assert.equal(timeline.items.length, 1);
  assert.equal(timeline.items[0]?.kind === 'call' && timeline.items[0].approval?.state, 'waiting');
});

test('output is bounded and says what was let go', () => {
  const output: Lines = { lines: [], dropped: 0, open: false };
  addOutput(output, 'x\n'.repeat(maxLines + 7));
  assert.equal(output.lines.length, maxLines);
  assert.equal(output.dropped, 7);
});

test('50,000 lines are a thousand rows, and a folded call shows its end', () => {
  const timeline = play(
    { type: 'tool_call', callId: 'c1', turn: 1, tool: 'run_command', state: 'calling' },
    {
      type: 'output',
      callId: 'c1',
      stream: 'stdout',
      text: Array.from({ length: 50_000 }, (_, n) => `${n}\n`).join(''),
    },
  );
  const folded = rowsOf(timeline.items, new Set());
  assert.equal(folded.length, 3);
  assert.deepEqual(folded.at(-1), {
    kind: 'lines',
    key: `1/c1/${50_000 - foldedLines}`,
    item: timeline.items[0],
    from: 50_000 - foldedLines,
    to: 50_000,
  });
  assert.equal(rowsOf(timeline.items, new Set(['1/c1'])).length, 2 + 50_000 / linesPerRow);
});

test('hostile text is shown as it is, without its control characters', () => {
  assert.equal(shownLine('\u001b[31mred\u001b[0m'), 'red');
  assert.equal(shownLine('a\rb\u202e'), 'a\\x0db\\u{202e}');
  assert.equal(shownLine('\u001b]8;;http://x\u0007'), '\\x1b]8;;http://x\\x07');
});
