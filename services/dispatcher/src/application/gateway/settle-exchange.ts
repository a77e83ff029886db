import type { Clock } from '@lemniscate/shared/clock.ts';
import { costOfCall, costPartsOfCall } from '@lemniscate/shared/model/cost.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { addTokens, tokensOf } from '@lemniscate/shared/model/usage.ts';
import type { ResponseUsage, TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { appendAboutSession } from '../audit/append-about-session.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import { appendUsageCost } from '../costs/append-cost.ts';
import { readTotals, usageEvent } from './usage-totals.ts';

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
  /** Whether the answer was whole; otherwise every number is a lower bound. */
  readonly complete: boolean;
}

/**
 * Settles an exchange: tokens, cost, audit entry and the session's totals, in one transaction. Settling twice changes
 * nothing, except that knowledge replaces the reaper's ignorance.
 * @returns whether this call settled it
 */
export async function settleExchange(deps: SettleDeps, ended: EndedExchange): Promise<boolean> {
  const announced = await deps.database.transaction((tx) => settle(deps, tx, ended));
  if (announced) deps.events.announce(ended.claim.sessionId);
  return announced;
}

async function settle(deps: SettleDeps, tx: Transaction, ended: EndedExchange): Promise<boolean> {
  const { claim } = ended;
  const [session, before, known] = await Promise.all([
    lockSession(tx, claim.sessionId),
    lockUsage(tx, ended),
    findSameResponse(tx, ended),
  ]);
  if (before === null) return false;
  // A response that is on record already was billed once: this row says so and counts nothing.
  const responses = known === null ? ended.responses : [];
  const tokens = addTokens(...responses.map(tokensOf));
  const call = { provider: ended.prices, model: ended.model, at: ended.at, batch: false };
  const cost = costOfCall(responses, call, deps.priceBook);
  const costUsd = cost === null ? null : cost.toFixed();
  const written = writeUsage(tx, ended, responses[0], tokens, costUsd);
  const appended = appendUsageCost(tx, session, {
    usageId: ended.usageId,
    provider: ended.provider,
    model: ended.model,
    at: ended.at,
    priceBook: deps.priceBook.version,
    complete: ended.complete,
    tokens,
    costs: cost === null ? null : costPartsOfCall(responses, call, deps.priceBook),
    wasCut: before === 'cut',
  });
  const closed = sessionHasEnded(session.state);
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
        ...(ended.fallbackFor === null ? {} : { fallbackFor: ended.fallbackFor }),
        ...(known === null ? {} : { sameResponseAs: known }),
      },
    },
  ]);
  const [totals] = await Promise.all([readTotals(tx, claim.sessionId), written, appended, audited]);
  if (!closed)
    await deps.events.append(tx, claim.sessionId, claim.attempt, [usageEvent(ended.model, totals)]);
  return true;
}

/**
 * Locks the exchange's row, behind the session's lock.
 * @returns the state that this settlement changes; null when somebody else has settled it
 */
async function lockUsage(tx: Transaction, ended: EndedExchange): Promise<'begun' | 'cut' | null> {
  const [row] = await tx.query<{ state: string; known: boolean }>(
    `SELECT state, response_id IS NOT NULL
       OR input_tokens + output_tokens + cache_read_tokens + cache_write_tokens > 0 AS known
     FROM usage WHERE id = $1 FOR UPDATE`,
    [ended.usageId],
  );
  if (row?.state === 'begun') return 'begun';
  // Also a part of an answer is more than the nothing with which another dispatcher has cut it.
  const isNews = ended.complete || (ended.responses.length > 0 && row?.known === false);
  return row?.state === 'cut' && isNews ? 'cut' : null;
}

/** The usage row that has this response already, such as one that the provider told to an earlier request. */
async function findSameResponse(tx: Transaction, ended: EndedExchange): Promise<string | null> {
  const responseId = ended.responses[0]?.responseId ?? null;
  if (responseId === null) return null;
  const [, [row]] = await Promise.all([
    // Two sessions that are told one response at once settle one after the other; the second sees the first.
    tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
      JSON.stringify(['usage_response', ended.provider, responseId]),
    ]),
    tx.query<{ id: string }>('SELECT id FROM usage WHERE provider = $1 AND response_id = $2 AND id <> $3', [
      ended.provider,
      responseId,
      ended.usageId,
    ]),
  ]);
  return row?.id ?? null;
}

async function writeUsage(
  tx: Transaction,
  ended: EndedExchange,
  response: ResponseUsage | undefined,
  tokens: TokenBuckets,
  costUsd: string | null,
): Promise<void> {
  await tx.query(
    `UPDATE usage SET state = $2, complete = $3, input_tokens = $4, output_tokens = $5, cache_read_tokens = $6,
       cache_write_tokens = $7, cache_write_1h_tokens = $8, cost_usd = $9, served_tier = $10, response_id = $11,
       settled_at = now() WHERE id = $1`,
    [
      ended.usageId,
      ended.complete ? 'settled' : 'cut',
      ended.complete,
      tokens.inputTokens,
      tokens.outputTokens,
      tokens.cacheReadTokens,
      tokens.cacheWriteTokens,
      tokens.cacheWrite1hTokens,
      costUsd,
      response?.tier.serviceTier ?? null,
      response?.responseId ?? null,
    ],
  );
}
