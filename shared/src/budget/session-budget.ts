import type { Policy } from '../policy/policy.ts';
import type { EndReason } from '../session/end.ts';
import { allowanceOf } from '../session/allowance.ts';
import type { Allowance, SessionBounds } from '../session/allowance.ts';

/** What a session has used, as its row says. */
export interface BudgetUse {
  readonly actions_used: number;
  readonly commands_used: number;
  readonly extensions_used: number;
  readonly waited_ms: number;
  readonly running_at: string | null;
  /** Where the minutes count from, if not from `running_at`. */
  readonly budget_from: string | null;
  readonly bounds: SessionBounds | null;
  /** The record's clock. */
  readonly now: string;
}

/** A budget that is used up: the reason of the end, the words for the person, and whether an extension would help. */
export interface ExhaustedBudget {
  readonly reason: EndReason;
  readonly message: string;
  readonly extendable: boolean;
}

type Budgets = Policy['budgets'];

/** What the session may use by now. */
export function allowance(budgets: Budgets, use: BudgetUse): Allowance {
  return allowanceOf(budgets, use.bounds, use.extensions_used);
}

/** Minutes of work: since the session began to run or its budget began anew, without what it waited for people. */
export function workedMinutes(use: BudgetUse): number {
  const from = use.budget_from ?? use.running_at;
  if (from === null) return 0;
  return Math.max(0, Date.parse(use.now) - Date.parse(from) - use.waited_ms) / 60_000;
}

/** The time bound, asked before each tool call and each model exchange, and by the watch. */
export function exhaustedTime(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  const { minutes, extensionsLeft } = allowance(budgets, use);
  if (workedMinutes(use) < minutes) return null;
  return {
    reason: 'time_budget',
    message: `The session has used up its ${minutes} minutes. Raise budgets.maxMinutes in the policy, or divide the task.`,
    extendable: extensionsLeft > 0,
  };
}

/** Whether another action may begin. */
export function exhaustedActions(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  const { actions, extensionsLeft } = allowance(budgets, use);
  if (use.actions_used < actions) return null;
  return {
    reason: 'budget_actions',
    message: `The session has used up its ${actions} actions. Raise budgets.maxActions in the policy, or divide the task.`,
    extendable: extensionsLeft > 0,
  };
}

/** Whether another command may run. */
export function exhaustedCommands(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  if (budgets.maxCommands === undefined || use.commands_used < budgets.maxCommands) return null;
  return {
    reason: 'budget_commands',
    message: `The session has used up its ${budgets.maxCommands} commands. Raise budgets.maxCommands in the policy, or divide the task.`,
    extendable: false,
  };
}
