import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';

/** What a session has used, as its row says. */
export interface BudgetUse {
  readonly actions_used: number;
  readonly commands_used: number;
  readonly waited_ms: number;
  readonly running_at: string | null;
  /** The record's clock. */
  readonly now: string;
}

/** A budget that is used up: the reason of the end, and the words for the person. */
export interface ExhaustedBudget {
  readonly reason: EndReason;
  readonly message: string;
}

type Budgets = Policy['budgets'];

/** Minutes of work: since the session began to run, without what it waited for people. */
export function workedMinutes(use: BudgetUse): number {
  if (use.running_at === null) return 0;
  return Math.max(0, Date.parse(use.now) - Date.parse(use.running_at) - use.waited_ms) / 60_000;
}

/** The time bound, asked before each tool call and each model exchange, and by the watch. */
export function exhaustedTime(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  if (workedMinutes(use) < budgets.maxMinutes) return null;
  return {
    reason: 'time_budget',
    message: `The session has used up its ${budgets.maxMinutes} minutes. Raise budgets.maxMinutes in the policy, or divide the task.`,
  };
}

/** Whether another action may begin. */
export function exhaustedActions(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  if (use.actions_used < budgets.maxActions) return null;
  return {
    reason: 'budget_actions',
    message: `The session has used up its ${budgets.maxActions} actions. Raise budgets.maxActions in the policy, or divide the task.`,
  };
}

/** Whether another command may run. */
export function exhaustedCommands(budgets: Budgets, use: BudgetUse): ExhaustedBudget | null {
  if (budgets.maxCommands === undefined || use.commands_used < budgets.maxCommands) return null;
  return {
    reason: 'budget_commands',
    message: `The session has used up its ${budgets.maxCommands} commands. Raise budgets.maxCommands in the policy, or divide the task.`,
  };
}
