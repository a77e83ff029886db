import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { reservationMs } from '../ports/reservations.ts';
import type { Reservations } from '../ports/reservations.ts';
import { loseAttempt } from '../recovery/lose-attempt.ts';
import type { LoseAttemptDeps } from '../recovery/lose-attempt.ts';
import { liftClamp, noteStarted } from './judge-server.ts';
import { nextReport, offerOf, serverColumns, usableCapacity } from './server-row.ts';
import type { ServerRow } from './server-row.ts';

export interface ReportDeps extends LoseAttemptDeps {
  readonly database: Database;
  readonly reservations: Reservations;
  /** Sessions that may start on one server at once. */
  readonly startingLimit: number;
  /** Begins a ledger anew that has forgotten everything. */
  readonly rebuildLedger: () => Promise<void>;
}

/** What a probe measured beside what the server says. */
interface Measured {
  readonly answerMs: number;
  /** How far its clock is ahead; null: it does not say. */
  readonly aheadMs: number | null;
}

/** What a report changes that its receiver must know. */
export interface ReportOutcome {
  readonly server: ServerRow;
}

interface AttemptRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly attempt: number;
  readonly boot_id: string | null;
  /** False while its order may still be on the way to a server that has just started anew. */
  readonly settled: boolean;
  readonly live: boolean;
  readonly starting: boolean;
  readonly created_at: string;
}

/**
 * Takes a server's word on itself, from a heartbeat or a probe: the row, the ledger, and the attempts that a restart
 * has destroyed. A server that started anew has lost whatever it does not list, which nobody has to wait a lease for.
 * @param measured what a probe measured; null: a heartbeat brought it
 * @returns null when the record does not know the server
 */
export async function reportStatus(
  deps: ReportDeps,
  serverId: string,
  status: ServerStatus,
  measured: Measured | null = null,
): Promise<ReportOutcome | null> {
  // Under the row's lock: of two reports the one with the larger number has read later.
  const [stored, attempts] = await deps.database.transaction((tx) =>
    Promise.all([storeStatus(tx, serverId, status, measured), recentAttempts(tx, serverId)]),
  );
  if (stored === null) return null;
  const server = await liftClamp(deps.database, stored);
  await loseDestroyed(deps, serverId, status, attempts);
  if (
    server.last_failure !== null &&
    attempts.some((row) => row.live && !row.starting && isAfter(row, server))
  )
    await noteStarted(deps.database, serverId);
  await correctLedger(deps, server, attempts, status);
  if (usableCapacity(server) > status.held.length) deps.signals.send('slotFreed', undefined);
  return { server };
}

async function storeStatus(
  tx: Transaction,
  serverId: string,
  status: ServerStatus,
  measured: Measured | null,
): Promise<ServerRow | null> {
  const byProbe =
    measured === null
      ? ''
      : ', answer_ms = $5, clock_ahead_ms = $6, probed_at = now(), probe_failures = 0, probe_failure = NULL';
  const [row] = await tx.query<ServerRow>(
    `UPDATE agent_servers SET boot_id = $2, driver = $3, status = $4, seen_at = now(), reported = ${nextReport}${byProbe}
     WHERE id = $1
     RETURNING ${serverColumns}`,
    [
      serverId,
      status.bootId,
      status.driver,
      JSON.stringify(status),
      ...(measured === null ? [] : [measured.answerMs, measured.aheadMs]),
    ],
  );
  return row ?? null;
}

/**
 * Attempts that the record gives to the server, and those that have left it while a reservation may still stand. States are
 * looked up by key: as a join, the index of all sessions was walked up to the last one of the server.
 */
async function recentAttempts(tx: Transaction, serverId: string): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(
    `SELECT session_id, attempt, boot_id, created_at < now() - interval '1 second' AS settled,
       true AS live, (SELECT state = 'starting' FROM sessions WHERE id = attempts.session_id) AS starting, created_at
     FROM attempts WHERE server_id = $1 AND state = 'live'
     UNION ALL
     SELECT session_id, attempt, boot_id, true, false, false, created_at
     FROM attempts WHERE server_id = $1 AND state <> 'live'
       AND created_at > now() - $2 * interval '1 millisecond'`,
    [serverId, 2 * reservationMs],
  );
}

function isAfter(row: AttemptRow, server: ServerRow): boolean {
  return server.last_failure_at === null || row.created_at > server.last_failure_at;
}

async function loseDestroyed(
  deps: ReportDeps,
  serverId: string,
  status: ServerStatus,
  attempts: readonly AttemptRow[],
): Promise<void> {
  const held = new Set(status.held.map(heldKey));
  for (const row of attempts) {
    if (!row.live) continue;
    // An attempt without a boot was minted before the server's first word; only its lease can tell.
    if (row.boot_id === null || row.boot_id === status.bootId || !row.settled) continue;
    const attempt = { sessionId: row.session_id, attempt: row.attempt };
    if (held.has(heldKey(attempt))) continue;
    await loseAttempt(deps, { ...attempt, serverId, why: 'server_restarted' });
  }
}

async function correctLedger(
  deps: Pick<ReportDeps, 'reservations' | 'startingLimit' | 'rebuildLedger'>,
  server: ServerRow,
  attempts: readonly AttemptRow[],
  status: ServerStatus,
): Promise<void> {
  if (usableCapacity(server) === 0) {
    await deps.reservations.withdraw(server.id);
    return;
  }
  const idsOf = (rows: readonly AttemptRow[]): string[] => rows.map((row) => row.session_id);
  const { live = [], left = [] } = Object.groupBy(attempts, (row) => (row.live ? 'live' : 'left'));
  const isTaken = await deps.reservations.correct({
    ...offerOf(server, deps.startingLimit),
    starting: live.filter((row) => row.starting).length,
    // What the record has ended still occupies its slot until the server says that the sandbox is gone.
    sessions: [...idsOf(live), ...status.held.map((each) => each.sessionId)],
    gone: idsOf(left),
  });
  if (!isTaken) await deps.rebuildLedger();
}

/** A key of an attempt for sets. */
export function heldKey(held: Held): string {
  return `${held.sessionId}#${held.attempt}`;
}
