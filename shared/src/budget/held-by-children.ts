import type { Policy } from '../policy/policy.ts';
import { allowance } from './session-budget.ts';
import type { BudgetUse } from './session-budget.ts';

/** What a session's sub-agents that still work were given of its budget. */
export interface HeldByChildren {
  /** One of them, to wait for; null where none works. */
  readonly childId: string | null;
  readonly actions: number;
  readonly commands: number;
}

/** A session's use as if its sub-agents had used up what they were given: what is left then is nobody else's. */
export function withHeld<Use extends BudgetUse>(use: Use, held: HeldByChildren): Use {
  return {
    ...use,
    actions_used: use.actions_used + held.actions,
    commands_used: use.commands_used + held.commands,
  };
}

/**
 * Whether a call of the parent has to wait for a sub-agent that works at the same time: together they could use more than
 * the session may. It is not stopped for what may not be used.
 */
export function mustWaitForChild(
  budgets: Policy['budgets'],
  use: BudgetUse,
  held: HeldByChildren,
  tool: string,
): boolean {
  // what a further sub-agent may have is asked where it is opened
  if (held.childId === null || tool === 'delegate') return false;
  const both = withHeld(use, held);
  if (both.actions_used >= allowance(budgets, use).actions) return true;
  return tool === 'run_command' && both.commands_used >= budgets.maxCommands;
}
