import type { Clock } from '@lemniscate/shared/clock.ts';
import { costOfCall, costPartsOfCall, isCostLowerBound } from '@lemniscate/shared/model/cost.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import { bookOfProject } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { addTokens, tokensOf } from '@lemniscate/shared/model/usage.ts';
import type { ResponseUsage, TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { appendAboutSession } from '../audit/append-about-session.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { appendUsageCost } from '../costs/append-cost.ts';
import { changeOfCost, searchesOf } from './change-of-cost.ts';
import { lockToSettle } from './lock-session.ts';
import { exchangeOf, findSameResponse, lockUsage, writeUsage } from './usage-row.ts';
import type { SameResponse } from './usage-row.ts';
import { readTotals, usageEvent } from './usage-totals.ts';
import type { UsageTotals } from './usage-totals.ts';

export interface SettleDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly priceBook: PriceBook;
  readonly clock: Clock;
}

/** An exchange that is over. */
export interface EndedExchange {
  readonly usageId: string;
  readonly claim: AttemptClaim;
  readonly provider: string;
  /** Whose prices hold, by their name in the price book. */
  readonly prices: string;
  readonly model: string;
  readonly fallbackFor: string | null;
  /** When it began, in milliseconds of the epoch: prices are dated. */
  readonly at: number;
  readonly responses: readonly ResponseUsage[];
  /** Whether the answer was whole; otherwise every number is a lower bound. Its cost may be one all the same. */
  readonly complete: boolean;
}

/** `completes`: nothing is written yet, since another row's answer broke off and this is the whole of it. */
type Settled =
  | { readonly kind: 'settled' | 'known' }
  | { readonly kind: 'completes'; readonly row: SameResponse };

/**
 * Settles an exchange: tokens, cost, audit entry and the session's totals, in one transaction. Settling twice changes
 * nothing, except that knowledge replaces the reaper's ignorance. A response that comes whole after it was cut is billed
 * where it was begun, and there with its whole counts; the exchange that brought it the second time bills nothing.
 * @returns whether this call settled it
 */
export async function settleExchange(deps: SettleDeps, ended: EndedExchange): Promise<boolean> {
  let settled = await deps.database.transaction((tx) => settle(deps, tx, ended, true));
  if (settled.kind === 'completes') {
    // In a transaction of its own: two sessions that are locked at once could wait for each other.
    const { responses, complete } = ended;
    await settleExchange(deps, { ...exchangeOf(settled.row), responses, complete });
    settled = await deps.database.transaction((tx) => settle(deps, tx, ended, false));
  }
  if (settled.kind === 'settled') deps.events.announce(ended.claim.sessionId);
  return settled.kind === 'settled';
}

async function settle(
  deps: SettleDeps,
  tx: Transaction,
  ended: EndedExchange,
  mayComplete: boolean,
): Promise<Settled> {
  const { claim } = ended;
  // One round trip; all of them look behind the lock.
  const [session, before, known, totals] = await Promise.all([
    lockToSettle(tx, claim.sessionId),
    lockUsage(tx, ended),
    findSameResponse(tx, ended),
    readTotals(tx, claim.sessionId),
    deps.audit.lookAhead(tx, sessionChain(claim.sessionId)),
  ]);
  if (before === null) return { kind: 'known' };
  if (mayComplete && ended.complete && known?.state === 'cut') return { kind: 'completes', row: known };
  // A response that is on record already was billed once: this row says so and counts nothing.
  const responses = known === null ? ended.responses : [];
  const tokens = addTokens(...responses.map(tokensOf));
  const call = { provider: ended.prices, model: ended.model, at: ended.at, batch: false };
  const book = bookOfProject(deps.priceBook, session.project_id);
  const cost = costOfCall(responses, call, book);
  const costUsd = cost === null ? null : cost.toFixed();
  const costs = cost === null ? null : costPartsOfCall(responses, call, book);
  const costIsLowerBound = isCostLowerBound(ended.complete, responses, call, book);
  const wasCut = before.state === 'cut';
  // One round trip for all that is written.
  const written = writeUsage(tx, ended, responses, tokens, { costUsd, costIsLowerBound });
  const appended = appendUsageCost(tx, session, {
    usageId: ended.usageId,
    provider: ended.provider,
    model: ended.model,
    servedModel: responses[0]?.servedModel ?? null,
    at: ended.at,
    priceBook: book.version,
    costIsLowerBound,
    ...changeOfCost(before, { tokens, costs, requests: searchesOf(responses) }, call, book),
    wasCut,
  });
  // A row that was cut is in the sums already.
  const sums = wasCut ? readTotals(tx, claim.sessionId) : withExchange(totals, tokens, costUsd);
  const [now] = await Promise.all([sums, ...(wasCut ? [written, appended] : [])]);
  // The chain of a session that was stopped meanwhile is closed: its last exchange stands in the review chain.
  const audited = appendAboutSession(deps.audit, tx, session, [
    {
      type: 'model.exchanged',
      subject: serviceUri('agent-server', claim.serverId),
      attempt: claim.attempt,
      server: claim.serverId,
      body: {
        usage: ended.usageId,
        provider: ended.provider,
        model: ended.model,
        inputTokens: tokens.inputTokens,
        outputTokens: tokens.outputTokens,
        cacheReadTokens: tokens.cacheReadTokens,
        cacheWriteTokens: tokens.cacheWriteTokens,
        costUsd,
        complete: ended.complete,
        costIsLowerBound,
        ...(ended.fallbackFor === null ? {} : { fallbackFor: ended.fallbackFor }),
        ...(known === null ? {} : { sameResponseAs: known.id }),
      },
    },
  ]);
  const told = sessionHasEnded(session.state)
    ? null
    : deps.events.append(tx, claim.sessionId, claim.attempt, [usageEvent(ended.model, now)]);
  await Promise.all([written, appended, audited, told]);
  return { kind: 'settled' };
}

/** The sums of a session once an exchange that had begun is settled; read before it, under the session's lock. */
function withExchange(totals: UsageTotals, tokens: TokenBuckets, costUsd: string | null): UsageTotals {
  return {
    ...totals,
    input_tokens: totals.input_tokens + tokens.inputTokens,
    output_tokens: totals.output_tokens + tokens.outputTokens,
    cache_read_tokens: totals.cache_read_tokens + tokens.cacheReadTokens,
    cache_write_tokens: totals.cache_write_tokens + tokens.cacheWriteTokens,
    cost_usd: new Decimal(totals.cost_usd).plus(costUsd ?? 0).toFixed(),
    priced: totals.priced && costUsd !== null,
  };
}
