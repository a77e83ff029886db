import { holdUntil } from '../events/hold-until.ts';
import type { HoldUntilDeps } from '../events/hold-until.ts';
import type { Log } from '../ports/log.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { fleetAgo } from '../recovery/fleet-clock.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import { settleExchange } from './settle-exchange.ts';
import type { SettleDeps } from './settle-exchange.ts';
import { exchangeOf } from './usage-row.ts';
import type { ExchangeRow } from './usage-row.ts';

export interface ReapExchangesDeps extends SettleDeps {
  readonly open: OpenExchanges;
  readonly log: Log;
}

/** Longest that an exchange may be open; the relay itself ends it before. Minutes. */
const maxMinutes = 31;
/** A gateway that has not been heard of for so long is dead; it says something every few seconds. Seconds. */
const silentSeconds = 20;
/** What a dead attempt left open is given so long to be settled by the process that relays it. Seconds. */
const deadSeconds = 15;
const atOnce = 100;

/**
 * Settles what nobody will settle any more: exchanges of attempts that are over, of a process that died, and those that
 * are too old. Nothing is known of them, so they are cut with a lower bound of nothing and keep their reservation.
 * @returns how many were settled
 */
export async function reapExchanges(deps: ReapExchangesDeps): Promise<number> {
  const rows = await deps.database.query<ExchangeRow>(
    `SELECT u.id, u.session_id, u.attempt, a.server_id, u.provider, u.prices, u.model, u.fallback_for, u.begun_at
     FROM usage u JOIN attempts a ON a.session_id = u.session_id AND a.attempt = u.attempt
     LEFT JOIN gateways g ON g.id = u.gateway
     WHERE u.state = 'begun' AND (u.begun_at < (SELECT ${fleetAgo('make_interval(mins => $1)')})
       OR (u.gateway IS NOT NULL AND u.begun_at < (SELECT ${fleetAgo('make_interval(secs => $4)')})
         AND coalesce(g.seen_at, '-infinity') < (SELECT ${fleetAgo('make_interval(secs => $4)')}))
       OR (a.state <> 'live' AND coalesce(a.ended_at, u.begun_at) < (SELECT ${fleetAgo('make_interval(secs => $2)')})))
     ORDER BY u.begun_at LIMIT $3`,
    [maxMinutes, deadSeconds, atOnce, silentSeconds],
  );
  return cutAll(deps, rows);
}

/** How long a result waits for exchanges that are just being settled. Milliseconds. */
const settleMs = 3_000;

export interface SettleAttemptDeps extends ReapExchangesDeps, HoldUntilDeps {
  /** This process; what another one relays is waited for as well. */
  readonly gatewayId: string;
}

/**
 * Makes the usage of an attempt final: waits a moment for what is being settled, here or by another dispatcher that
 * lives, and cuts the rest.
 */
export async function settleAttempt(deps: SettleAttemptDeps, claim: AttemptClaim): Promise<void> {
  const began = deps.clock.monotonicMs();
  await deps.open.settled(claim, settleMs);
  let rows = await openRowsOf(deps, claim);
  const isFinal = (): boolean => !rows.some(({ elsewhere }) => elsewhere);
  if (!isFinal()) {
    const wait = { ms: settleMs - (deps.clock.monotonicMs() - began), gone: new AbortController().signal };
    await holdUntil(deps, claim.sessionId, wait, async () => {
      rows = await openRowsOf(deps, claim);
      return isFinal() ? true : null;
    });
  }
  await cutAll(deps, rows);
}

interface OpenRowOfAttempt extends ExchangeRow {
  /** Another dispatcher, which lives, is relaying it. */
  readonly elsewhere: boolean;
}

async function openRowsOf(deps: SettleAttemptDeps, claim: AttemptClaim): Promise<OpenRowOfAttempt[]> {
  return deps.database.query(
    `SELECT u.id, u.session_id, u.attempt, $3::text AS server_id, u.provider, u.prices, u.model, u.fallback_for,
       u.begun_at, coalesce(u.gateway <> $4 AND g.seen_at > (SELECT ${fleetAgo('make_interval(secs => $5)')}), false) AS elsewhere
     FROM usage u LEFT JOIN gateways g ON g.id = u.gateway
     WHERE u.session_id = $1 AND u.attempt = $2 AND u.state = 'begun'`,
    [claim.sessionId, claim.attempt, claim.serverId, deps.gatewayId, silentSeconds],
  );
}

async function cutAll(deps: ReapExchangesDeps, rows: readonly ExchangeRow[]): Promise<number> {
  let settled = 0;
  for (const row of rows) {
    const cut = await settleExchange(deps, { ...exchangeOf(row), responses: [], complete: false });
    if (cut) settled += 1;
    if (cut)
      deps.log.warn({ usage: row.id, session: row.session_id }, 'an exchange that nobody settled was cut');
  }
  return settled;
}
