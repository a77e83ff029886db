import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { offerTokens } from '@lemniscate/shared/queue/placement-class.ts';
import type { ServerTruth } from '../ports/reservations.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ProbedBefore } from './probe-turn.ts';
import { failuresAllowed, serverFault } from './server-fault.ts';
import type { ServerCondition } from './server-fault.ts';
import { inShareSql } from './server-lists.ts';
import type { Share } from './server-lists.ts';

/** An agent server as the record knows it. */
export interface ServerRow extends ServerCondition, Record<string, unknown> {
  readonly id: string;
  readonly url: string;
  readonly pool: string;
  readonly capacity: number;
  readonly boot_id: string | null;
  readonly driver: string | null;
  readonly pinned_to: string | null;
  readonly status: ServerStatus | null;
  readonly seen_at: string | null;
  readonly drain_deadline: string | null;
  readonly last_failure_at: string | null;
  /** Slots that a newcomer may use; null: all of them. */
  readonly clamp: number | null;
  /** Of what an operator decides about. */
  readonly version: number;
  /** Grows with each reading of what is on it. */
  readonly reported: number;
}

/** Of two readings the later one has the larger number, also behind a record that was restored. */
export const nextReport = `greatest(reported + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

const conditionColumns = `(extract(epoch FROM now() - seen_at) * 1000)::bigint AS silent_ms,
  drained_at IS NOT NULL AS drained, listed, start_failures, last_failure, answer_ms, probe_failures, probe_failure,
  coalesce(excluded_until > now(), false) AS excluded, clock_ahead_ms, clamp`;

/** Every column of a server row, for statements that return one. */
export const serverColumns = `id, url, pool, capacity, boot_id, driver, pinned_to, status, seen_at, ${conditionColumns},
  drain_deadline, last_failure_at, version, reported`;

/** All servers that ever answered, by id. */
export async function listServers(tx: Transaction): Promise<ServerRow[]> {
  return tx.query<ServerRow>(`SELECT ${serverColumns} FROM agent_servers ORDER BY id LIMIT 10000`);
}

/** A server as a look at all of them needs it: without what it holds, which is most of its words. */
export interface ShareRow extends ServerRoom, Omit<ProbedBefore, 'status'>, Record<string, unknown> {
  readonly id: string;
  readonly url: string;
  readonly origin: 'list' | 'joined';
}

/** Servers whose addresses belong to the share. */
export async function listShare(tx: Transaction, { index, count }: Share): Promise<ShareRow[]> {
  return tx.query<ShareRow>(
    `SELECT id, url, origin, capacity, ${conditionColumns}, status - '{held,mirrors,settings}'::text[] AS status,
       (extract(epoch FROM now() - probed_at) * 1000)::bigint AS probed_ms
     FROM agent_servers WHERE ${inShareSql}`,
    [index, count],
  );
}

/** One server, or null. */
export async function findServer(tx: Transaction, serverId: string): Promise<ServerRow | null> {
  const [row] = await tx.query<ServerRow>(`SELECT ${serverColumns} FROM agent_servers WHERE id = $1`, [
    serverId,
  ]);
  return row ?? null;
}

/** What decides how many slots of a server may be filled. */
export interface ServerRoom extends ServerCondition {
  readonly capacity: number;
  readonly clamp: number | null;
  readonly status: (NonNullable<ServerCondition['status']> & Pick<ServerStatus, 'capacity'>) | null;
}

/** Slots that it has: what it says itself, and no more than the fleet lets it have. */
export function ownCapacity({ capacity, status }: Pick<ServerRoom, 'capacity' | 'status'>): number {
  return Math.min(capacity, status?.capacity ?? capacity);
}

/** Slots that may be filled now; 0 while something keeps the server out of the rotation. */
export function usableCapacity(row: ServerRoom): number {
  if (row.status === null || serverFault(row) !== null) return 0;
  // One that failed again and again proves itself with a single session first.
  const trial = row.start_failures >= failuresAllowed ? 1 : Infinity;
  return Math.min(ownCapacity(row), row.clamp ?? Infinity, trial);
}

/** What the ledger knows of a server beside the sessions on it. */
export function offerOf(
  row: ServerRow,
  startingLimit: number,
): Omit<ServerTruth, 'starting' | 'sessions' | 'gone'> {
  const { status } = row;
  return {
    serverId: row.id,
    report: row.reported,
    pool: row.pool,
    capacity: usableCapacity(row),
    tokens: offerTokens(status ?? {}),
    warm: status?.warm ?? 0,
    mirrors: status?.mirrors ?? [],
    startingLimit,
  };
}
