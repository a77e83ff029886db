import { Decimal } from '../model/decimal.ts';
import type { Policy } from '../policy/policy.ts';
import type { Surface } from '../protocol/session-order.ts';
import { surfaceRules } from '../session/surface.ts';
import { exhaustedActions, exhaustedTime } from './session-budget.ts';
import type { BudgetUse, ExhaustedBudget } from './session-budget.ts';

/** A session that was opened before these bounds had defaults may be without them. */
type Budgets = Omit<Policy['budgets'], 'maxTokens' | 'maxCostUsd' | 'unpricedModels'> &
  Partial<Pick<Policy['budgets'], 'maxTokens' | 'maxCostUsd' | 'unpricedModels'>>;

/** What a session's model exchanges have used and hold. */
export interface Spent {
  /** Known tokens of ended exchanges and sub-agents; of a cut exchange at least what it had reserved. */
  readonly settled_tokens: number;
  /** Reserved by exchanges that run, and given to sub-agents that work. */
  readonly open_tokens: number;
  /** The last ended exchange: the next one is about as large. */
  readonly last_tokens: number;
  /** Known cost, and the reservation of whatever is not finally known; decimal text, US dollars. */
  readonly held_usd: string;
  /** The part of it that exchanges and sub-agents hold which run. */
  readonly open_usd: string;
  readonly last_usd: string;
  /** Whether every exchange has a price. */
  readonly priced: boolean;
  /** False: something that a provider billed by number in a whole answer has no price. */
  readonly fees_priced: boolean;
  /** Exchanges that run. */
  readonly open: number;
  /** Sub-agents that work; what they were given is among what is open. */
  readonly children: number;
}

/** What is asked about before a model exchange. */
export interface SpendingSession extends BudgetUse {
  readonly policy: Pick<Policy, 'budgets'>;
  readonly surface: Surface;
  readonly stop_reason: string | null;
}

/** Answer of a last exchange without tools, in tokens: a few sentences. */
const summaryTokens = 2_048;
/** The summary's prompt is the last one's and a little more. */
const summaryMargin = 1.25;

/**
 * Budgets before a model exchange. What is not finally known counts with its worst case. Where a session says in a last
 * exchange how far it came, as much as the last one took stays reserved for it.
 */
export function exhaustedBudget(
  session: SpendingSession,
  totals: Spent,
  reserved: string | null,
  summary: boolean,
): ExhaustedBudget | null {
  const { budgets } = session.policy;
  const keeps = !summary && surfaceRules[session.surface].summarisesAtBudgetEnd;
  const spent =
    exhaustedTokens(budgets, totals, keeps) ?? exhaustedCost(budgets, totals, reserved === null, keeps);
  if (summary) return spent;
  if (session.stop_reason !== null)
    return {
      reason: session.stop_reason as ExhaustedBudget['reason'],
      message: 'The session is being stopped.',
      extendable: false,
    };
  return exhaustedTime(budgets, session) ?? exhaustedActions(budgets, session) ?? spent;
}

/** The most that an exchange can use; `usd` is null for a model without a price. */
export interface WorstCase {
  readonly tokens: number;
  readonly usd: string | null;
}

/**
 * Whether an exchange has to wait for those that run: together they could use more than what is left. One alone may
 * begin while anything is left, or a large prompt could never use the rest; so several in parallel never pass a bound by
 * more than one by itself can.
 */
export function mustWaitForOthers(budgets: Budgets, totals: Spent, own: WorstCase): boolean {
  if (totals.open + totals.children === 0) return false;
  const { maxTokens, maxCostUsd } = budgets;
  if (maxTokens !== undefined && totals.settled_tokens + totals.open_tokens + own.tokens > maxTokens)
    return true;
  return maxCostUsd !== undefined && new Decimal(totals.held_usd).add(own.usd ?? 0).gt(maxCostUsd);
}

/** The bound of tokens, by what has been used for certain. */
export function exhaustedTokens(
  budgets: Budgets,
  totals: Pick<Spent, 'settled_tokens' | 'last_tokens'>,
  keepsSummary = false,
): ExhaustedBudget | null {
  if (budgets.maxTokens === undefined) return null;
  // before the first exchange nothing is known of the next
  const kept =
    keepsSummary && totals.last_tokens > 0 ? totals.last_tokens * summaryMargin + summaryTokens : 0;
  if (totals.settled_tokens + kept < budgets.maxTokens) return null;
  return {
    reason: 'budget_tokens',
    message: `The session has used up its ${budgets.maxTokens} tokens. Raise budgets.maxTokens in the policy.`,
    extendable: false,
  };
}

/** The bound of money, by what has been used for certain: what runs is waited for, not counted against the session. */
export function exhaustedCost(
  budgets: Budgets,
  totals: Pick<Spent, 'held_usd' | 'open_usd' | 'last_usd' | 'priced' | 'fees_priced'>,
  unpriced: boolean,
  keepsSummary = false,
): ExhaustedBudget | null {
  const { maxCostUsd, unpricedModels } = budgets;
  if (maxCostUsd === undefined) return null;
  // A budget of money cannot be kept for a model without a price: where somebody wrote one it fails closed.
  if (unpricedModels !== 'allow' && (unpriced || !totals.priced))
    return {
      reason: 'budget_cost',
      message:
        'The policy bounds the cost, but the model has no price. Add the price, or set budgets.unpricedModels to allow.',
      extendable: false,
    };
  if (unpricedModels !== 'allow' && !totals.fees_priced)
    return {
      reason: 'budget_cost',
      message:
        'The policy bounds the cost, but something that the provider bills by number (a search, a container) has no price. Add the price and run "lemniscate costs correct", take the tool from the policy, or set budgets.unpricedModels to allow.',
      extendable: false,
    };
  const kept = keepsSummary ? new Decimal(totals.last_usd).mul(summaryMargin) : new Decimal(0);
  if (kept.add(totals.held_usd).sub(totals.open_usd).lt(maxCostUsd)) return null;
  return {
    reason: 'budget_cost',
    message: `The session has used up its ${maxCostUsd} US dollars. Raise budgets.maxCostUsd in the policy.`,
    extendable: false,
  };
}
