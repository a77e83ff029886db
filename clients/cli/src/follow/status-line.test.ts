import assert from 'node:assert/strict';
import { test } from 'node:test';
import pc from 'picocolors';
import { createStatusLine } from './status-line.ts';

test('says in one line what happens, how much was done, how long and what it cost', () => {
  const status = createStatusLine(pc.createColors(false), 1_000, { actions: 150, minutes: 45 });
  assert.match(status.text(0, 1_000), /waiting for a server · 0\/150 actions · 0:00\/45 min/);
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
    /run_command · calling · turn 2 · 1\/150 actions · 1:03\/45 min · \$0\.0123 · s stops · Ctrl-C interrupts/,
  );
});

test('a tool of a hostile name cannot move the cursor', () => {
  const status = createStatusLine(pc.createColors(false), 0, { actions: 150, minutes: 45 });
  status.hear({ type: 'tool_call', callId: 'c', turn: 1, tool: '\u001b[2J', state: 'generating' });
  assert.ok(!status.text(0, 0).includes('\u001b'));
});

test('an extension that is granted makes the budget larger, one that is asked for does not', () => {
  const status = createStatusLine(pc.createColors(false), 0, { actions: 10, minutes: 5 });
  const extension = {
    type: 'extension',
    number: 1,
    cause: 'budget_actions',
    used: { actions: 10, minutes: 1 },
    grants: { actions: 50, minutes: 15, left: 4 },
  } as const;
  status.hear({ ...extension, state: 'waiting' });
  assert.match(status.text(0, 0), /0\/10 actions · 0:00\/5 min/);
  status.hear({ ...extension, state: 'granted' });
  assert.match(status.text(0, 0), /0\/60 actions · 0:00\/20 min/);
});

test('where nothing is bounded no bound is told', () => {
  const status = createStatusLine(pc.createColors(false), 0, null);
  assert.match(status.text(0, 61_000), /waiting for a server · 0 actions · 1:01 · s stops/);
});
