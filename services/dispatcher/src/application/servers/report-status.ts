import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Reservations } from '../ports/reservations.ts';
import { loseAttempt } from '../recovery/lose-attempt.ts';
import type { LoseAttemptDeps } from '../recovery/lose-attempt.ts';
import { usableCapacity } from './server-row.ts';
import type { ServerRow } from './server-row.ts';

export interface ReportDeps extends LoseAttemptDeps {
  readonly database: Database;
  readonly reservations: Reservations;
}

/** What a report changes that its receiver must know. */
export interface ReportOutcome {
  readonly server: ServerRow;
}

interface LiveRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly attempt: number;
  readonly boot_id: string | null;
  /** False while its order may still be on the way to a server that has just started anew. */
  readonly settled: boolean;
}

/**
 * Takes a server's word on itself, from a heartbeat or a probe: the row, the ledger, and the attempts that a restart
 * has destroyed. A server that started anew has lost whatever it does not list, which nobody has to wait a lease for.
 * @returns null when the record does not know the server
 */
export async function reportStatus(
  deps: ReportDeps,
  serverId: string,
  status: ServerStatus,
): Promise<ReportOutcome | null> {
  const server = await storeStatus(deps.database, serverId, status);
  if (server === null) return null;
  const live = await liveAttempts(deps.database, serverId);
  await loseDestroyed(deps, serverId, status, live);
  await correctLedger(deps.reservations, server, live, status.held);
  if (usableCapacity(server) > status.held.length) deps.signals.send('slotFreed', undefined);
  return { server };
}

async function storeStatus(
  tx: Transaction,
  serverId: string,
  status: ServerStatus,
): Promise<ServerRow | null> {
  const [row] = await tx.query<ServerRow>(
    `UPDATE agent_servers SET boot_id = $2, driver = $3, status = $4, seen_at = now() WHERE id = $1
     RETURNING id, url, pool, capacity, boot_id, driver, pinned_to, status, seen_at, 0::bigint AS silent_ms`,
    [serverId, status.bootId, status.driver, JSON.stringify(status)],
  );
  return row ?? null;
}

/** Attempts that the record gives to the server. */
export async function liveAttempts(tx: Transaction, serverId: string): Promise<LiveRow[]> {
  return tx.query<LiveRow>(
    `SELECT session_id, attempt, boot_id, created_at < now() - interval '1 second' AS settled
     FROM attempts WHERE server_id = $1 AND state = 'live'`,
    [serverId],
  );
}

async function loseDestroyed(
  deps: ReportDeps,
  serverId: string,
  status: ServerStatus,
  live: readonly LiveRow[],
): Promise<void> {
  const held = new Set(status.held.map(heldKey));
  for (const row of live) {
    // An attempt without a boot was minted before the server's first word; only its lease can tell.
    if (row.boot_id === null || row.boot_id === status.bootId || !row.settled) continue;
    const attempt = { sessionId: row.session_id, attempt: row.attempt };
    if (held.has(heldKey(attempt))) continue;
    await loseAttempt(deps, { ...attempt, serverId, why: 'server_restarted' });
  }
}

async function correctLedger(
  reservations: Reservations,
  server: ServerRow,
  live: readonly LiveRow[],
  held: readonly Held[],
): Promise<void> {
  const capacity = usableCapacity(server);
  if (capacity === 0) {
    await reservations.withdraw(server.id);
    return;
  }
  // What the record has ended still occupies its slot until the server says that the sandbox is gone.
  const sessions = [...live.map((row) => row.session_id), ...held.map((each) => each.sessionId)];
  await reservations.correct({ serverId: server.id, pool: server.pool, capacity, sessions });
}

/** A key of an attempt for sets. */
export function heldKey(held: Held): string {
  return `${held.sessionId}#${held.attempt}`;
}
