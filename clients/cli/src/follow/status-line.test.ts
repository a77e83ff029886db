import assert from 'node:assert/strict';
import { test } from 'node:test';
import pc from 'picocolors';
import { createStatusLine } from './status-line.ts';

test('says in one line what happens, how much was done, how long and what it cost', () => {
  const status = createStatusLine(pc.createColors(false), 1_000);
  assert.match(status.text(0, 1_000), /waiting for a server · 0 actions · 0:00/);
  status.hear({ type: 'turn', turn: 2 });
  status.hear({
    type: 'tool_call',
    callId: 'c_1',
    turn: 2,
    tool: 'run_command',
    state: 'calling',
  });
  status.hear({
    type: 'usage',
    model: 'm',
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    totalCostUsd: '0.0123',
    priced: true,
  });
  assert.match(
    status.text(1, 64_000),
    /run_command · calling · turn 2 · 1 action · 1:03 · \$0\.0123 · s stops · Ctrl-C interrupts/,
  );
});

test('a tool of a hostile name cannot move the cursor', () => {
  const status = createStatusLine(pc.createColors(false), 0);
  status.hear({ type: 'tool_call', callId: 'c', turn: 1, tool: '\u001b[2J', state: 'generating' });
  assert.ok(!status.text(0, 0).includes('\u001b'));
});
