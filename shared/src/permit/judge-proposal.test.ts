import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policySchema } from '../policy/policy.ts';
import type { PolicyInput } from '../policy/policy.ts';
import { judgeProposal } from './judge-proposal.ts';
import type { JudgedSession } from './judge-proposal.ts';

const unspent = {
  settled_tokens: 0,
  last_tokens: 0,
  held_usd: '0',
  open_usd: '0',
  last_usd: '0',
  priced: true,
  fees_priced: true,
};
const propose = (tool: string, args: Record<string, string>) => ({ tool, arguments: args });
const session = (policy: PolicyInput, more: Partial<JudgedSession> = {}): JudgedSession => ({
  project_id: 'local',
  policy: policySchema.parse(policy),
  surface: 'api',
  interactive: true,
  stop_reason: null,
  spent: unspent,
  actions_used: 0,
  commands_used: 0,
  extensions_used: 0,
  bounds: null,
  budget_from: null,
  waited_ms: 0,
  running_at: '2026-01-01T00:00:00.000Z',
  now: '2026-01-01T00:10:00.000Z',
  ...more,
});
const readFree = { tools: { read_file: 'allow', list_files: 'exclude' } } as const;
const read = propose('read_file', { path: 'a.txt' });
const answerOf = (...given: Parameters<typeof judgeProposal>) => {
  const judgement = judgeProposal(...given);
  return judgement.kind === 'answer' ? judgement.answer : judgement.kind;
};

test('a free tool goes by automation', () => {
  const answer = answerOf(session(readFree), read, null, true);
  assert.deepEqual(answer, {
    verdict: 'go',
    decidedBy: 'automation',
    reasons: ["the policy's value for read_file is allowedWithoutPermission"],
  });
});

test('what the policy forbids is canceled on the terminal and errored elsewhere', () => {
  const list = propose('list_files', {});
  for (const [surface, state] of [
    ['terminal', 'canceled'],
    ['ide', 'errored'],
    ['api', 'errored'],
    ['trigger', 'errored'],
  ] as const) {
    const answer = answerOf(session(readFree, { surface }), list, null, true);
    assert.ok(typeof answer === 'object' && answer.verdict === 'forbidden');
    assert.equal(answer.state, state);
  }
});

test('an ask waits for a person where one follows, and is refused with the freeing line where none does', () => {
  assert.equal(answerOf(session({}), read, null, true), 'ask');
  const alone = answerOf(session({}, { interactive: false }), read, null, true);
  assert.ok(typeof alone === 'object' && alone.verdict === 'rejected');
  assert.deepEqual([alone.decidedBy, alone.reason, alone.endsLoop], ['automation', 'approval_expired', true]);
  assert.match(alone.message, /tools: \{read_file: allowedWithoutPermission\}/);
});

test('only a human yes lets an ask run', () => {
  const approval = { id: 'apr_1', subject: 'p', message: null };
  const judge = (state: 'approved' | 'rejected' | 'expired', decided_by: 'human' | 'automation') =>
    answerOf(session({}), read, { ...approval, state, decided_by }, false);
  const yes = judge('approved', 'human');
  assert.ok(typeof yes === 'object' && yes.verdict === 'go' && yes.decidedBy === 'human');
  const forged = judge('approved', 'automation');
  assert.ok(typeof forged === 'object' && forged.verdict === 'rejected' && forged.decidedBy === 'automation');
  const no = judge('rejected', 'human');
  assert.ok(typeof no === 'object' && no.verdict === 'rejected' && no.reason === 'tool_rejected');
  const late = judge('expired', 'automation');
  assert.ok(typeof late === 'object' && late.verdict === 'rejected' && late.reason === 'approval_expired');
  assert.equal(late.decidedBy, 'automation');
});

test('a question that was withdrawn decides nothing, least of all as a rejection', () => {
  const withdrawn = {
    id: 'a',
    state: 'withdrawn',
    decided_by: 'automation',
    subject: null,
    message: null,
  } as const;
  assert.equal(answerOf(session({}), read, withdrawn, false), 'ask');
});

test('continueAfterToolRejection keeps the loop', () => {
  const approval = { id: 'a', subject: 'p', message: 'no', state: 'rejected', decided_by: 'human' } as const;
  const answer = answerOf(session({ continueAfterToolRejection: true }), read, approval, false);
  assert.ok(typeof answer === 'object' && answer.verdict === 'rejected');
  assert.deepEqual([answer.endsLoop, answer.message], [false, 'no']);
});

test('budgets stop with their reason; waiting for a person costs no minutes', () => {
  const policy = { ...readFree, budgets: { maxActions: 3, maxMinutes: 10, maxCommands: 1 } };
  const reason = (more: Partial<JudgedSession>, isNew = true) => {
    const answer = answerOf(session(policy, { interactive: false, ...more }), read, null, isNew);
    return typeof answer === 'object' && answer.verdict === 'stop' ? answer.reason : null;
  };
  assert.equal(reason({}), 'time_budget');
  assert.equal(reason({ waited_ms: 60_000 }), null);
  assert.equal(reason({ waited_ms: 60_000, actions_used: 3 }), 'budget_actions');
  assert.equal(reason({ waited_ms: 60_000, actions_used: 3 }, false), null);
  assert.equal(reason({ stop_reason: 'budget_cost' }), 'budget_cost');
});

test('a session of a policy that bounds nothing is bounded by tokens, money and commands all the same', () => {
  const reason = (more: Partial<JudgedSession>, call = read) => {
    const free: PolicyInput = { tools: { read_file: 'allow', run_command: 'allow' }, freeCommands: ['ls'] };
    const answer = answerOf(session(free, more), call, null, true);
    return typeof answer === 'object' && answer.verdict === 'stop' ? answer.reason : null;
  };
  assert.equal(reason({ spent: { ...unspent, settled_tokens: 49_999_999 } }), null);
  assert.equal(reason({ spent: { ...unspent, settled_tokens: 50_000_000 } }), 'budget_tokens');
  assert.equal(reason({ spent: { ...unspent, held_usd: '99.99' } }), null);
  assert.equal(reason({ spent: { ...unspent, held_usd: '100.00' } }), 'budget_cost');
  assert.equal(reason({ spent: { ...unspent, priced: false } }), null);
  const command = propose('run_command', { command: 'ls' });
  assert.equal(reason({ commands_used: 999 }, command), null);
  assert.equal(reason({ commands_used: 1_000 }, command), 'budget_commands');
});

test('where a person can extend, they are asked; commands, stops and the last extension are final', () => {
  const policy = { ...readFree, budgets: { maxActions: 3, maxExtensions: 1 } };
  const kind = (more: Partial<JudgedSession>) => judgeProposal(session(policy, more), read, null, true).kind;
  assert.equal(kind({ actions_used: 3 }), 'extend');
  assert.equal(kind({ actions_used: 3, extensions_used: 1 }), 'answer');
  assert.equal(kind({ actions_used: 53, extensions_used: 1 }), 'answer');
  assert.equal(kind({ actions_used: 3, bounds: { maxExtensions: 0 } }), 'answer');
  assert.equal(kind({ actions_used: 3, stop_reason: 'stopped' }), 'answer');
  assert.equal(kind({ actions_used: 3, interactive: false }), 'answer');
});

test('what may have been done outside by a lost attempt is asked about again, and never goes by itself', () => {
  const lost = { outcome_unknown: true };
  assert.equal(answerOf(session(readFree, lost), read, null, true), 'ask');
  const alone = answerOf(session(readFree, { ...lost, interactive: false }), read, null, true);
  assert.ok(typeof alone === 'object' && alone.verdict !== 'go');
  const approval = { id: 'a', state: 'approved', decided_by: 'human', subject: 'p', message: null } as const;
  const fresh = answerOf(session(readFree, lost), read, approval, true);
  assert.ok(typeof fresh === 'object' && fresh.verdict === 'go' && fresh.decidedBy === 'human');
});
