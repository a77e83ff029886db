import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import pc from 'picocolors';
import { describeApproval } from './approvals.ts';

const asked = (tool: string, args: ApprovalView['arguments']): ApprovalView => ({
  id: 'apr_1',
  sessionId: 's_1',
  callId: 'c_1',
  tool,
  title: tool,
  arguments: args,
  argumentsDigest: 'd',
  pattern: tool,
  reasons: ['The policy asks.'],
  state: 'waiting',
  people: 1,
  approvedBy: [],
  delegatedBy: null,
  createdAt: '2026-11-30T00:00:00.000Z',
  expiresAt: '2026-11-30T01:00:00.000Z',
});
const paint = pc.createColors(true);

test('a change of a file is shown in the colours of a diff', () => {
  const text = describeApproval(asked('edit_file', { path: 'a', old_text: 'x', new_text: 'y' }), paint);
  assert.ok(text.includes(paint.red('- x')));
  assert.ok(text.includes(paint.green('+ y')));
});

test('a command has no colours, however its lines begin, and brings none along', () => {
  const text = describeApproval(asked('run_command', { command: 'ls\n+ x\n\u001b[32mgreen' }), paint);
  assert.doesNotMatch(text, /\u001b/);
  assert.match(text, /\n\+ x\n/);
});
