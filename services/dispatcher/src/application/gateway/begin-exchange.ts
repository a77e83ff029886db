import { exhaustedBudget, mustWaitForOthers } from '@lemniscate/shared/budget/exchange-budget.ts';
import { extendableExhaustion } from '@lemniscate/shared/budget/extendable.ts';
import type { ExhaustedBudget } from '@lemniscate/shared/budget/session-budget.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { holdWhileExtendable } from '../budgets/hold-exchange.ts';
import type { HoldDeps } from '../budgets/hold-exchange.ts';
import { claimSummary } from '../budgets/claim-summary.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { drawSlices, shortBudgets } from '../costs/budgets.ts';
import { lockSpending } from './lock-session.ts';
import { readTotals } from './usage-totals.ts';
import { worstCaseCost, worstCaseTokens } from '@lemniscate/shared/budget/worst-case.ts';
import type { PlannedExchange } from '@lemniscate/shared/budget/worst-case.ts';

export interface BeginDeps extends HoldDeps {
  readonly database: Database;
  readonly newId: NewId;
  /** The one of the session's project. */
  readonly priceBook: PriceBook;
  /** This process, so that another one can tell what it left open. */
  readonly gatewayId: string;
}

/** Exchanges that one attempt may have open; a runtime needs one, a CLI a few. */
const maxOpen = 8;

/**
 * Writes the `begun` row with the worst case reserved, before the provider hears of anything: an exchange that nobody
 * settles is seen and not free. Budgets are asked first; one that is used up is recorded as the session's stop.
 * @returns the id of the usage row
 * @throws CodedError `attempt_stale`, `budget_exhausted` (its detail `reason` is the reason of the end), `unavailable`
 */
export async function beginExchange(
  deps: BeginDeps,
  claim: AttemptClaim,
  planned: PlannedExchange,
): Promise<string> {
  for (;;) {
    const begun = await tryToBegin(deps, claim, planned);
    if (begun.kind === 'begun') return begun.id;
    if (begun.kind === 'exhausted')
      throw new CodedError('budget_exhausted', `${begun.budget.message} (${begun.budget.reason})`, {
        session: claim.sessionId,
        reason: begun.budget.reason,
      });
    // Only here, since most exchanges need no second transaction to learn that they may begin.
    await holdWhileExtendable(deps, claim);
  }
}

type Begun =
  | { readonly kind: 'begun'; readonly id: string }
  | { readonly kind: 'extendable' }
  | { readonly kind: 'exhausted'; readonly budget: ExhaustedBudget };

async function tryToBegin(deps: BeginDeps, claim: AttemptClaim, planned: PlannedExchange): Promise<Begun> {
  const reserved = worstCaseCost(planned, deps.priceBook);
  return deps.database.transaction(async (tx): Promise<Begun> => {
    const escrow = { sessionId: claim.sessionId, reserved };
    // One round trip; all of them look behind the lock.
    const [locked, totals, waited, short] = await Promise.all([
      lockSpending(tx, claim),
      readTotals(tx, claim.sessionId),
      readWaitedMs(tx, claim.sessionId),
      shortBudgets(tx, escrow),
    ]);
    const session = { ...locked, waited_ms: waited };
    const summary = await claimSummary(tx, session);
    if (!summary && extendableExhaustion(session) !== null) return { kind: 'extendable' };
    const budget =
      exhaustedBudget(session, totals, reserved, summary) ??
      exhaustedOrganisation(await drawSlices(tx, escrow, short));
    if (budget !== null) {
      await tx.query('UPDATE sessions SET stop_reason = coalesce(stop_reason, $2) WHERE id = $1', [
        claim.sessionId,
        budget.reason,
      ]);
      return { kind: 'exhausted', budget };
    }
    const own = { tokens: worstCaseTokens(planned), usd: reserved };
    if (!summary && mustWaitForOthers(session.policy.budgets, totals, own))
      throw new CodedError(
        'unavailable',
        `The model exchanges that session ${claim.sessionId} has open may use up what is left of its budget; one has to end first.`,
      );
    if (totals.open >= maxOpen)
      throw new CodedError(
        'unavailable',
        `Session ${claim.sessionId} has ${totals.open} model exchanges open; one has to end first.`,
      );
    const id = deps.newId('usage');
    // Travels with the commit, before which nobody goes on, and which fails with its error.
    insertBegun(deps, tx, claim, planned, { id, reserved }).catch(() => undefined);
    return { kind: 'begun', id };
  });
}

/** Sent at once: what cannot be sent is thrown here and now. */
function insertBegun(
  deps: BeginDeps,
  tx: Transaction,
  claim: AttemptClaim,
  planned: PlannedExchange,
  row: { readonly id: string; readonly reserved: string | null },
): Promise<unknown> {
  return tx.query(
    `INSERT INTO usage (id, session_id, attempt, provider, model, state, reserved_usd, price_book, gateway, endpoint,
       prices, fallback_for, reserved_tokens)
     VALUES ($1, $2, $3, $4, $5, 'begun', $6, $7, $8, $9, nullif($10, $4), $11, $12)`,
    [
      row.id,
      claim.sessionId,
      claim.attempt,
      planned.provider,
      planned.model,
      row.reserved,
      deps.priceBook.version,
      deps.gatewayId,
      planned.endpoint,
      planned.prices,
      planned.fallbackFor,
      worstCaseTokens(planned),
    ],
  );
}

/** Budgets of the project and the agent, which many sessions share. */
function exhaustedOrganisation(message: string | null): ExhaustedBudget | null {
  return message === null ? null : { reason: 'budget_cost', message, extendable: false };
}
