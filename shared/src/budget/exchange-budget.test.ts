import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../policy/command/fuzz/random.ts';
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
  open_usd: '0',
  last_usd: '0',
  priced: true,
  fees_priced: true,
  open: 0,
  children: 0,
  ...more,
});

const one = { tokens: 300, usd: '0.30' };

test('open exchanges hold their tokens: another one waits, and the session is not stopped for what may not be used', () => {
  const { budgets } = session('api', { maxTokens: 1_000 }).policy;
  const parallel = spent({ settled_tokens: 200, open_tokens: 900, open: 1 });
  assert.equal(mustWaitForOthers(budgets, parallel, one), true);
  assert.equal(exhaustedBudget(session('api', { maxTokens: 1_000 }), parallel, '0', false), null);
  assert.equal(
    mustWaitForOthers(budgets, spent({ settled_tokens: 200, open_tokens: 700, open: 1 }), one),
    true,
  );
  assert.equal(
    mustWaitForOthers(budgets, spent({ settled_tokens: 200, open_tokens: 500, open: 1 }), one),
    false,
  );
  assert.equal(mustWaitForOthers(budgets, spent({ settled_tokens: 999 }), one), false);
});

test('open exchanges hold their money in the same way', () => {
  const limits = { maxCostUsd: '1.00' };
  const { budgets } = session('api', limits).policy;
  const parallel = spent({ held_usd: '1.10', open_usd: '0.90', open: 1 });
  assert.equal(mustWaitForOthers(budgets, parallel, one), true);
  assert.equal(exhaustedBudget(session('api', limits), parallel, '0', false), null);
  assert.equal(mustWaitForOthers(budgets, spent({ held_usd: '0.70', open_usd: '0.5', open: 1 }), one), false);
  assert.equal(mustWaitForOthers(budgets, spent({ held_usd: '0.71', open_usd: '0.5', open: 1 }), one), true);
  assert.equal(
    exhaustedBudget(session('api', limits), spent({ held_usd: '1.00' }), '0', false)?.reason,
    'budget_cost',
  );
});

test('in no interleaving of begins and ends does what is used pass the bound by more than one exchange alone', () => {
  const random = createRandom(4);
  const { budgets } = session('api', { maxTokens: 5_000, maxCostUsd: '5.00' }).policy;
  for (let round = 0; round < 500; round += 1) {
    let settled = 0;
    const open: number[] = [];
    let largest = 0;
    for (let step = 0; step < 60; step += 1) {
      if (open.length > 0 && random.chance(40)) {
        // the worst case comes true
        settled += open.splice(random.below(open.length), 1)[0] ?? 0;
        continue;
      }
      const held = open.reduce((sum, tokens) => sum + tokens, 0);
      const usd = (tokens: number) => (tokens / 1_000).toFixed(3);
      const totals = spent({
        settled_tokens: settled,
        open_tokens: held,
        held_usd: usd(settled + held),
        open_usd: usd(held),
        open: open.length,
      });
      const tokens = 1 + random.below(2_000);
      if (exhaustedBudget(session('api', budgets), totals, '0', false) !== null) break;
      if (mustWaitForOthers(budgets, totals, { tokens, usd: usd(tokens) })) continue;
      largest = Math.max(largest, open.length === 0 ? tokens : 0);
      open.push(tokens);
    }
    const used = open.reduce((sum, tokens) => sum + tokens, settled);
    assert.ok(used <= 5_000 + largest, `round ${round}: ${used} with ${largest} at once`);
  }
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

test('a model without a price is refused where somebody bounds money, and bounded by tokens where nobody does', () => {
  const asks = (budgets: object, totals = spent()) =>
    exhaustedBudget(session('api', budgets), totals, null, false)?.reason ?? null;
  assert.equal(asks({ maxCostUsd: '5' }), 'budget_cost');
  assert.equal(asks({ unpricedModels: 'refuse' }), 'budget_cost');
  assert.equal(asks({}), null);
  assert.equal(asks({ maxCostUsd: '5', unpricedModels: 'allow' }), null);
  assert.equal(asks({}, spent({ settled_tokens: 50_000_000, priced: false })), 'budget_tokens');
  const fees = spent({ fees_priced: false });
  const priced = (budgets: object) =>
    exhaustedBudget(session('api', budgets), fees, '0', false)?.reason ?? null;
  assert.equal(priced({ maxCostUsd: '5' }), 'budget_cost');
  assert.equal(priced({ maxCostUsd: '5', unpricedModels: 'allow' }), null);
  assert.equal(priced({}), null);
  const before = {
    ...session('api', {}),
    policy: { budgets: { maxActions: 1, maxMinutes: 1, maxExtensions: 0 } },
  };
  const old = before as unknown as SpendingSession;
  assert.equal(exhaustedBudget(old, spent({ settled_tokens: 1e12, priced: false }), null, false), null);
});
