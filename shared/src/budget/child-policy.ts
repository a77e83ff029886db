import { Decimal } from '../model/decimal.ts';
import type { Policy } from '../policy/policy.ts';
import { allowance, workedMinutes } from './session-budget.ts';
import type { BudgetUse } from './session-budget.ts';
import type { Spent } from './exchange-budget.ts';

/** What the model asks for its sub-agent; less than is left, or as much. */
export interface AskedBounds {
  readonly actions?: number | undefined;
  readonly minutes?: number | undefined;
}

/**
 * The policy of a sub-agent: its parent's, with budgets that are never wider than what the parent has left; `use` and
 * `totals` hold what other sub-agents were given. Of tokens and money it gets half, so that its parent can go on beside
 * it and read its report. It cannot be extended; whoever extends the parent gives the next sub-agent more.
 * @returns the sentence for the model where nothing is left to give
 */
export function childPolicy(
  policy: Policy,
  use: BudgetUse,
  totals: Pick<Spent, 'settled_tokens' | 'open_tokens' | 'held_usd'>,
  asked: AskedBounds,
): Policy | string {
  const { budgets } = policy;
  const granted = allowance(budgets, use);
  const actions = Math.min(asked.actions ?? Infinity, granted.actions - use.actions_used);
  const minutes = Math.min(asked.minutes ?? Infinity, Math.floor(granted.minutes - workedMinutes(use)));
  if (actions < 1) return 'no action is left for a sub-agent';
  if (minutes < 1) return 'less than a minute is left for a sub-agent';
  const tokens =
    budgets.maxTokens === undefined
      ? undefined
      : Math.ceil((budgets.maxTokens - totals.settled_tokens - totals.open_tokens) / 2);
  if (tokens !== undefined && tokens < 1) return 'no token is left for a sub-agent';
  const dollars =
    budgets.maxCostUsd === undefined
      ? undefined
      : new Decimal(budgets.maxCostUsd).sub(totals.held_usd).div(2);
  if (dollars !== undefined && !dollars.gt(0)) return 'no money is left for a sub-agent';
  // each command is an action
  const commands =
    budgets.maxCommands === undefined
      ? undefined
      : Math.min(actions, budgets.maxCommands - use.commands_used);
  if (commands !== undefined && commands < 1) return 'no command is left for a sub-agent';
  return {
    ...policy,
    budgets: {
      ...budgets,
      maxActions: actions,
      maxMinutes: minutes,
      maxExtensions: 0,
      ...(tokens === undefined ? {} : { maxTokens: tokens }),
      ...(dollars === undefined
        ? {}
        : { maxCostUsd: dollars.toDecimalPlaces(12, Decimal.ROUND_DOWN).toFixed() }),
      ...(commands === undefined ? {} : { maxCommands: commands }),
    },
  };
}
