import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { HeartbeatAnswer, ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { ServerCommand } from '@lemniscate/shared/protocol/session-order.ts';
import { recordSettings } from '../audit/record-settings.ts';
import { waitsOfSession } from '../pausing/waits.ts';
import type { Transaction } from '../ports/transaction.ts';
import { heldKey, reportStatus } from './report-status.ts';
import type { ReportDeps } from './report-status.ts';

export interface HeartbeatDeps extends ReportDeps {
  readonly leaseMs: number;
}

/**
 * A heartbeat renews the leases of the attempts that the server holds and that are still its own, and says which are
 * not. Only leases depend on it, so they are renewed before anything that needs Redis.
 * @throws CodedError `server_unknown` until the server has been probed or has joined
 */
export async function takeHeartbeat(
  deps: HeartbeatDeps,
  serverId: string,
  status: ServerStatus,
): Promise<HeartbeatAnswer> {
  const renewed = await renewLeases(deps, serverId, status);
  const outcome = await reportStatus(deps, serverId, status).catch((error: unknown) => {
    // The ledger is a hint and the renewal has happened: a server must not freeze since Redis is away.
    if (isCodedError(error)) throw error;
    deps.log.warn({ err: error, server: serverId }, 'a heartbeat could not be passed on to the ledger');
    return undefined;
  });
  if (outcome === null) {
    deps.signals.send('probeServers', undefined);
    throw new CodedError(
      'server_unknown',
      `Agent server "${serverId}" is not known here yet. It must be listed in AGENT_SERVERS under an address that answers, or join.`,
      { server: serverId },
    );
  }
  if (status.settings !== undefined)
    await recordSettings(
      { ...deps, self: serviceUri('agent-server', serverId) },
      new Map(Object.entries(status.settings)),
    );
  const own = new Set(renewed.map(heldKey));
  const stale = status.held.filter((held) => !own.has(heldKey(held)));
  return {
    leases: renewed.map((held) => ({ ...held, leaseMs: deps.leaseMs })),
    stale,
    commands: await stopCommands(deps.database, status.held),
    pauses: await pausesOf(deps.database, renewed),
  };
}

/** Renews what the server holds and what is still its own. @returns that */
export async function renewLeases(
  deps: Pick<HeartbeatDeps, 'database' | 'leaseMs'>,
  serverId: string,
  status: Pick<ServerStatus, 'held' | 'bootId'>,
): Promise<Held[]> {
  if (status.held.length === 0) return [];
  const rows = await deps.database.query<{ session_id: string; attempt: number }>(
    // Locked in one order, as everybody who changes several at once does: two heartbeats of one server, or a heartbeat
    // and a credit for downtime, would else wait for each other in a ring.
    `WITH mine AS MATERIALIZED (
       SELECT attempts.session_id, attempts.attempt
       FROM unnest($1::text[], $2::int[]) AS held (session_id, attempt)
       JOIN attempts ON attempts.session_id = held.session_id AND attempts.attempt = held.attempt
       WHERE attempts.server_id = $5 AND attempts.state = 'live'
       ORDER BY attempts.session_id, attempts.attempt FOR NO KEY UPDATE OF attempts
     )
     UPDATE attempts SET lease_expires_at = now() + $3 * interval '1 millisecond', boot_id = $4
     FROM mine WHERE attempts.session_id = mine.session_id AND attempts.attempt = mine.attempt
     RETURNING attempts.session_id, attempts.attempt`,
    [
      status.held.map((held) => held.sessionId),
      status.held.map((held) => held.attempt),
      deps.leaseMs,
      status.bootId,
      serverId,
    ],
  );
  return rows.map((row) => ({ sessionId: row.session_id, attempt: row.attempt }));
}

/** What the server holds of sessions that have to stop: ended by a person already, or at the end of a budget. */
async function stopCommands(tx: Transaction, held: readonly Held[]): Promise<ServerCommand[]> {
  if (held.length === 0) return [];
  const stopped = await tx.query<{ id: string; stop_reason: string }>(
    'SELECT id, stop_reason FROM sessions WHERE id = ANY($1) AND stop_reason IS NOT NULL',
    [held.map((each) => each.sessionId)],
  );
  const reasons = new Map(stopped.map((row) => [row.id, row.stop_reason]));
  return held.flatMap((each) => {
    const reason = reasons.get(each.sessionId);
    return reason === undefined ? [] : [{ ...each, kind: 'stop' as const, reason }];
  });
}

/** What the server holds of sessions that are to be paused, as long as what they wait for has not come. */
async function pausesOf(tx: Transaction, held: readonly Held[]): Promise<HeartbeatAnswer['pauses']> {
  if (held.length === 0) return [];
  const rows = await tx.query<{ id: string; reason: string }>(
    `SELECT s.id, s.pause_requested AS reason FROM sessions s
     WHERE s.id = ANY($1) AND s.pause_requested IS NOT NULL AND s.state = 'running' AND s.stop_reason IS NULL
       AND (s.pause_requested IN ('by_person', 'drained')
         OR EXISTS (SELECT FROM ${waitsOfSession} w WHERE w.since IS NOT NULL))`,
    [held.map((each) => each.sessionId)],
  );
  const reasons = new Map(rows.map((row) => [row.id, row.reason]));
  return held.flatMap((each) => {
    const reason = reasons.get(each.sessionId);
    return reason === undefined ? [] : [{ ...each, reason }];
  });
}
