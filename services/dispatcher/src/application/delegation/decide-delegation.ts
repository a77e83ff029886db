import { withHeld } from '@lemniscate/shared/budget/held-by-children.ts';
import type { HeldByChildren } from '@lemniscate/shared/budget/held-by-children.ts';
import { childPolicy } from '@lemniscate/shared/budget/child-policy.ts';
import { delegationOf, mayDelegate } from '@lemniscate/shared/policy/delegation.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { readTotals } from '../gateway/usage-totals.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Proposal } from '../permits/read-proposal.ts';
import { adoptChild, countChildren, findChild } from './child-row.ts';
import { openChild } from './open-child.ts';
import type { OpenChildDeps } from './open-child.ts';
import { takeReport } from './take-report.ts';

type Report = NonNullable<Extract<PermitAnswer, { verdict: 'go' }>['result']>;

/** What becomes of a call that may run: its sub-agent works, has reported, or cannot be opened. */
export type DelegationStep =
  /** Another sub-agent has what is left; nothing of this call has begun. */
  | { readonly kind: 'behind'; readonly childId: string }
  | { readonly kind: 'waiting'; readonly opened: boolean; readonly childId: string }
  | { readonly kind: 'reported'; readonly report: Report };

/**
 * The next step of a permitted call of `delegate`, under the parent's lock. The wait is the permit's: nothing of the
 * parent is in `calling` meanwhile, so that it can be put away and free its slot.
 */
export async function decideDelegation(
  deps: OpenChildDeps,
  tx: Transaction,
  claim: AttemptClaim,
  session: LiveAttempt,
  proposal: Proposal,
  held: HeldByChildren,
): Promise<DelegationStep> {
  const { callId, argumentsDigest } = proposal;
  const child =
    (await findChild(tx, session.id, callId, argumentsDigest)) ??
    (await adoptChild(tx, claim, callId, argumentsDigest));
  if (child !== null) {
    if (!sessionHasEnded(child.state)) return { kind: 'waiting', opened: false, childId: child.id };
    return { kind: 'reported', report: await takeReport(deps, tx, claim, child) };
  }
  const rule = delegationOf(session.policy);
  if (!mayDelegate(session.policy, session.ancestors.length))
    return refused(`sub-agents may not go deeper than ${rule.maxDepth} here`);
  // a sub-agent always runs under our own loop, and has no more rights than its parent's policy gives
  if (session.policy.runtimes?.includes('native') === false)
    return refused('sub-agents run under the runtime native, which the policy does not allow here');
  if ((await countChildren(tx, session.id)) >= rule.maxChildren)
    return refused(`this session has had its ${rule.maxChildren} sub-agents`);
  const { max_actions: actions, max_minutes: minutes } = proposal.arguments;
  const policy = childPolicy(session.policy, withHeld(session, held), await readTotals(tx, session.id), {
    actions: typeof actions === 'number' ? actions : undefined,
    minutes: typeof minutes === 'number' ? minutes : undefined,
  });
  // what is left is another sub-agent's for as long as it works; afterwards some of it may still be there
  if (typeof policy === 'string' && held.childId !== null) return { kind: 'behind', childId: held.childId };
  if (typeof policy === 'string') return refused(policy);
  const childId = await openChild(deps, tx, claim, session, proposal, policy);
  return { kind: 'waiting', opened: true, childId };
}

function refused(why: string): DelegationStep {
  return {
    kind: 'reported',
    report: { isError: true, text: `No sub-agent was started: ${why}. Do this part yourself.` },
  };
}
