import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { offerTokens } from '@lemniscate/shared/queue/placement-class.ts';
import type { ServerTruth } from '../ports/reservations.ts';
import type { Transaction } from '../ports/transaction.ts';

/** An agent server as the record knows it. */
export interface ServerRow extends Record<string, unknown> {
  readonly id: string;
  readonly url: string;
  readonly pool: string;
  readonly capacity: number;
  readonly boot_id: string | null;
  readonly driver: string | null;
  readonly pinned_to: string | null;
  readonly status: ServerStatus | null;
  readonly seen_at: string | null;
  /** Milliseconds since it was last heard of, by the record's clock. */
  readonly silent_ms: number | null;
}

const columns = `id, url, pool, capacity, boot_id, driver, pinned_to, status, seen_at,
  (extract(epoch FROM now() - seen_at) * 1000)::bigint AS silent_ms`;

/** All servers that ever answered, by id. */
export async function listServers(tx: Transaction): Promise<ServerRow[]> {
  return tx.query<ServerRow>(`SELECT ${columns} FROM agent_servers ORDER BY id LIMIT 10000`);
}

/** One server, or null. */
export async function findServer(tx: Transaction, serverId: string): Promise<ServerRow | null> {
  const [row] = await tx.query<ServerRow>(`SELECT ${columns} FROM agent_servers WHERE id = $1`, [serverId]);
  return row ?? null;
}

/** A server that has not been heard of for this long gets no new sessions: three missed heartbeats. */
export const silentAfterMs = 7_000;

/** Slots that may be filled now; 0 while it drains, is unhealthy or silent. */
export function usableCapacity(row: Pick<ServerRow, 'capacity' | 'status' | 'silent_ms'>): number {
  const { status } = row;
  if (status === null || row.silent_ms === null || row.silent_ms > silentAfterMs) return 0;
  if (status.draining || status.unhealthy !== undefined) return 0;
  return Math.min(row.capacity, status.capacity);
}

/** What the ledger knows of a server beside the sessions on it. */
export function offerOf(
  row: ServerRow,
  startingLimit: number,
): Omit<ServerTruth, 'starting' | 'sessions' | 'gone'> {
  const { status } = row;
  return {
    serverId: row.id,
    pool: row.pool,
    capacity: usableCapacity(row),
    tokens: offerTokens(status ?? {}),
    warm: status?.warm ?? 0,
    mirrors: status?.mirrors ?? [],
    startingLimit,
  };
}
