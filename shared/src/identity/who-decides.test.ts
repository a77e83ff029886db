import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roles } from './roles.ts';
import { decisionFault, decisionRules, messageRestartsBudget, satisfiesAsk } from './who-decides.ts';
import type { Decider, SessionDecision } from './who-decides.ts';

const decisions = Object.keys(decisionRules) as SessionDecision[];
const somebody = (more: Partial<Decider>): Decider => ({ subject: 'p', kind: 'human', roles: [], ...more });

test('automation satisfies no ask, whatever its roles and whoever opened the session', () => {
  for (const decision of ['approval', 'extension', 'fresh_budget', 'diff'] as const)
    assert.equal(decisionFault(somebody({ kind: 'automation', roles }), decision, 'p'), 'not_in_person');
  for (const state of ['waiting', 'approved', 'rejected', 'expired', 'withdrawn'])
    for (const decided_by of ['human', 'automation', null] as const)
      assert.equal(
        satisfiesAsk({ state, decided_by }),
        state === 'approved' && decided_by === 'human',
        `${state} by ${decided_by}`,
      );
});

test('whoever opened a session decides about it, and approvers do; other roles do not', () => {
  for (const decision of decisions) {
    assert.equal(decisionFault(somebody({}), decision, 'p'), null);
    for (const role of ['approver', 'project_admin', 'administrator'] as const)
      assert.equal(decisionFault(somebody({ roles: [role] }), decision, 'another'), null);
    if (decision === 'diff') continue;
    for (const role of ['member', 'auditor', 'finops', 'operator'] as const)
      assert.equal(decisionFault(somebody({ roles: [role] }), decision, 'another'), 'not_theirs');
  }
});

test('only a person’s message starts the counters of a terminal anew', () => {
  assert.equal(messageRestartsBudget('terminal', 'human'), true);
  assert.equal(messageRestartsBudget('terminal', 'automation'), false);
  for (const surface of ['ide', 'api', 'trigger'] as const)
    assert.equal(messageRestartsBudget(surface, 'human'), false);
});
