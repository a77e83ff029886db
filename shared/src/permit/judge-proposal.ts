import { canAskFor } from '../budget/extendable.ts';
import { exhaustedCost, exhaustedTokens } from '../budget/exchange-budget.ts';
import type { Spent } from '../budget/exchange-budget.ts';
import { exhaustedActions, exhaustedCommands, exhaustedTime } from '../budget/session-budget.ts';
import type { BudgetUse, ExhaustedBudget } from '../budget/session-budget.ts';
import { satisfiesAsk } from '../identity/who-decides.ts';
import { neverLate } from '../policy/command/judgement.ts';
import type { IsLate } from '../policy/command/judgement.ts';
import { evaluateToolCall } from '../policy/evaluate.ts';
import type { Evaluation, ProposedCall } from '../policy/evaluate.ts';
import type { Policy } from '../policy/policy.ts';
import type { PermitAnswer } from '../protocol/permit.ts';
import type { Surface } from '../protocol/session-order.ts';
import { surfaceRules } from '../session/surface.ts';
import { hardenUnknown } from './unknown-outcome.ts';

/** What the session says to a proposal. */
export interface JudgedSession extends BudgetUse {
  readonly project_id: string;
  readonly policy: Policy;
  readonly surface: Surface;
  readonly interactive: boolean;
  readonly stop_reason: string | null;
  /** What its model exchanges have used. */
  readonly spent: SpentBudget;
  /** An earlier attempt was lost while it ran the same call, and what it did outside is unknown. */
  readonly outcome_unknown?: boolean;
}

export type SpentBudget = Pick<
  Spent,
  'settled_tokens' | 'last_tokens' | 'held_usd' | 'open_usd' | 'last_usd' | 'priced' | 'fees_priced'
>;

/** The approval of exactly this call, these arguments and this policy, if there is one. */
export interface KnownApproval {
  readonly id: string;
  readonly state: 'waiting' | 'approved' | 'rejected' | 'expired' | 'withdrawn';
  readonly decided_by: 'human' | 'automation' | null;
  readonly subject: string | null;
  readonly message: string | null;
}

/** The judgement: an answer for good, or that a person has to be asked. */
export type Judgement =
  | { readonly kind: 'answer'; readonly answer: FinalAnswer; readonly evaluation: Evaluation | null }
  | { readonly kind: 'ask'; readonly evaluation: Evaluation }
  /** The budget is used up; its person can extend it. */
  | { readonly kind: 'extend'; readonly exhausted: ExhaustedBudget; readonly evaluation: null };
export type FinalAnswer = Exclude<PermitAnswer, { verdict: 'waiting' }>;

/**
 * Judges a proposal; pure. Stop and budgets come first, then the policy, then the person's decision. `isNew` says that
 * this call has not used its action yet; `isLate` bounds the judgement of the arguments by time.
 */
export function judgeProposal(
  session: JudgedSession,
  proposal: ProposedCall,
  approval: KnownApproval | null,
  isNew: boolean,
  isLate: IsLate = neverLate,
): Judgement {
  if (session.stop_reason !== null) return stop({ ...beingStopped, reason: session.stop_reason });
  const exhausted = exhaustion(session, isNew);
  if (exhausted !== null && canAskFor(session, exhausted))
    return { kind: 'extend', exhausted, evaluation: null };
  if (exhausted !== null) return stop(exhausted);
  const evaluated = evaluateToolCall(session.policy, proposal, isLate);
  const evaluation = session.outcome_unknown === true ? hardenUnknown(evaluated) : evaluated;
  const answer = (given: FinalAnswer): Judgement => ({ kind: 'answer', answer: given, evaluation });

  if (evaluation.verdict === 'disabled') return answer(forbidden(session, proposal, evaluation));
  if (evaluation.verdict === 'allowedWithoutPermission')
    return answer(go(session, proposal, 'automation', evaluation.reasons));
  if (approval === null && !session.interactive) return answer(nobodyAnswers(session, proposal, evaluation));
  if (approval === null || isOpen(approval)) return { kind: 'ask', evaluation };
  if (satisfiesAsk(approval)) return answer(go(session, proposal, 'human', evaluation.reasons));
  return answer(refused(session, proposal, approval));
}

/** One that was withdrawn under the call answers nothing: whoever withdrew it has interrupted the call as well. */
function isOpen({ state }: KnownApproval): boolean {
  return state === 'waiting' || state === 'withdrawn';
}

const beingStopped = { message: 'The session is being stopped; nothing more is permitted.' };

function stop({ reason, message }: { reason: string; message: string }): Judgement {
  return { kind: 'answer', answer: { verdict: 'stop', reason, message }, evaluation: null };
}

function exhaustion(session: JudgedSession, isNew: boolean): ExhaustedBudget | null {
  const { budgets } = session.policy;
  const { spent } = session;
  return (
    exhaustedTime(budgets, session) ??
    (isNew ? exhaustedActions(budgets, session) : null) ??
    exhaustedTokens(budgets, spent) ??
    exhaustedCost(budgets, spent, false)
  );
}

function go(
  session: JudgedSession,
  { tool }: ProposedCall,
  decidedBy: 'human' | 'automation',
  reasons: readonly string[],
): FinalAnswer {
  const exhausted = tool === 'run_command' ? exhaustedCommands(session.policy.budgets, session) : null;
  if (exhausted !== null) return { verdict: 'stop', reason: exhausted.reason, message: exhausted.message };
  return { verdict: 'go', decidedBy, reasons: [...reasons] };
}

function forbidden(session: JudgedSession, { tool }: ProposedCall, { reasons }: Evaluation): FinalAnswer {
  return {
    verdict: 'forbidden',
    decidedBy: 'automation',
    state: surfaceRules[session.surface].forbiddenCall,
    message: `The policy of project ${session.project_id} does not let ${tool} do this: ${reasons.join('; ')}. Do it in another way or go on without it.`,
    reasons: [...reasons],
  };
}

/** Nobody sits there who could be asked, so automation says no and names the line that would have said yes. */
function nobodyAnswers(
  session: JudgedSession,
  { tool, arguments: args }: ProposedCall,
  evaluation: Evaluation,
): FinalAnswer {
  const command = typeof args['command'] === 'string' ? args['command'].slice(0, 200) : '';
  const line =
    tool === 'run_command' && session.policy.tools['run_command'] === 'allowedWithoutPermission'
      ? `freeCommands: ["${command}"]`
      : tool === 'run_command'
        ? `tools: {run_command: allowedWithoutPermission} with freeCommands: ["${command}"]`
        : `tools: {${tool}: allowedWithoutPermission}`;
  return {
    verdict: 'rejected',
    decidedBy: 'automation',
    message: `${tool} needs a person's approval and nobody can answer in this session (${evaluation.reasons.join('; ')}). To let it run unasked, the policy of project ${session.project_id} needs ${line}.`,
    endsLoop: !session.policy.continueAfterToolRejection,
    reason: 'approval_expired',
  };
}

function refused(session: JudgedSession, { tool }: ProposedCall, approval: KnownApproval): FinalAnswer {
  const endsLoop = !session.policy.continueAfterToolRejection;
  if (approval.state === 'rejected' && approval.decided_by === 'human')
    return {
      verdict: 'rejected',
      decidedBy: 'human',
      message: approval.message ?? `The person rejected this use of ${tool}.`,
      endsLoop,
      reason: 'tool_rejected',
    };
  return {
    verdict: 'rejected',
    decidedBy: 'automation',
    message: `Nobody answered the request to approve ${tool} in time.`,
    endsLoop,
    reason: 'approval_expired',
  };
}
