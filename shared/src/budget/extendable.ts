import type { Policy } from '../policy/policy.ts';
import { exhaustedActions, exhaustedTime } from './session-budget.ts';
import type { BudgetUse, ExhaustedBudget } from './session-budget.ts';

/** Whether a person can be asked to extend the budget instead of ending the session. */
export function canAskFor(session: { readonly interactive: boolean }, exhausted: ExhaustedBudget): boolean {
  return session.interactive && exhausted.extendable;
}

/** The budget that holds the session's next exchange back and that a person can extend. */
export function extendableExhaustion(
  session: BudgetUse & {
    readonly policy: Pick<Policy, 'budgets'>;
    readonly interactive: boolean;
    readonly stop_reason: string | null;
  },
): ExhaustedBudget | null {
  if (session.stop_reason !== null) return null;
  const { budgets } = session.policy;
  const exhausted = exhaustedTime(budgets, session) ?? exhaustedActions(budgets, session);
  return exhausted !== null && canAskFor(session, exhausted) ? exhausted : null;
}
