import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policySchema } from '../policy/policy.ts';
import { exhaustedBudget, mustWaitForOthers } from './exchange-budget.ts';
import type { SpendingSession } from './exchange-budget.ts';

const session = (
  surface: 'terminal' | 'api',
  budgets: object,
  stopReason: string | null = null,
): SpendingSession => ({
  policy: policySchema.parse({ budgets }),
  surface,
  stop_reason: stopReason,
  actions_used: 0,
  commands_used: 0,
  extensions_used: 0,
  waited_ms: 0,
  running_at: null,
  budget_from: null,
  bounds: null,
  now: '2026-11-29T00:00:00.000Z',
});
const spent = (more: object = {}) => ({
  settled_tokens: 0,
  open_tokens: 0,
  last_tokens: 0,
  held_usd: '0',
  last_usd: '0',
  priced: true,
  open: 0,
  ...more,
});

test('open exchanges hold their tokens: another one waits, and the session is not stopped for what may not be used', () => {
  const { budgets } = session('api', { maxTokens: 1_000 }).policy;
  const parallel = spent({ settled_tokens: 200, open_tokens: 900, open: 1 });
  assert.equal(mustWaitForOthers(budgets, parallel), true);
  assert.equal(exhaustedBudget(session('api', { maxTokens: 1_000 }), parallel, '0', false), null);
  assert.equal(mustWaitForOthers(budgets, spent({ settled_tokens: 200, open_tokens: 700, open: 1 })), false);
  assert.equal(mustWaitForOthers(budgets, spent({ settled_tokens: 999 })), false);
});

test('on the terminal room for the summary stays reserved, and the summary may use it', () => {
  const budgets = { maxTokens: 10_000 };
  const near = spent({ settled_tokens: 7_000, last_tokens: 1_000 });
  assert.equal(exhaustedBudget(session('api', budgets), near, '0', false), null);
  assert.equal(exhaustedBudget(session('terminal', budgets), near, '0', false)?.reason, 'budget_tokens');
  assert.equal(exhaustedBudget(session('terminal', budgets, 'budget_tokens'), near, '0', true), null);
  const over = spent({ settled_tokens: 10_000, last_tokens: 1_000 });
  assert.equal(exhaustedBudget(session('terminal', budgets), over, '0', true)?.reason, 'budget_tokens');
});

test('money is kept for the summary in the same way', () => {
  const budgets = { maxCostUsd: '1.00' };
  const near = spent({ held_usd: '0.90', last_usd: '0.10' });
  assert.equal(exhaustedBudget(session('api', budgets), near, '0', false), null);
  assert.equal(exhaustedBudget(session('terminal', budgets), near, '0', false)?.reason, 'budget_cost');
  assert.equal(exhaustedBudget(session('terminal', budgets), near, '0', true), null);
});
