import { sharedCall } from '../in-batches.ts';
import { keepPlans } from '../ordered-look.ts';
import { reservationMs } from '../ports/reservations.ts';
import type { Reservations, ServerTruth } from '../ports/reservations.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { listServers, nextReport, offerOf, usableCapacity } from './server-row.ts';

export interface RebuildDeps {
  readonly database: Database;
  readonly reservations: Reservations;
  /** Sessions that may start on one server at once. */
  readonly startingLimit: number;
}

const ledgerLock = `hashtextextended('ledger', 0)`;

/**
 * Keeps rebuilds away until the transaction ends. Whoever renews a reservation and then records what it was for does both
 * under this: a rebuild would else find neither, and give the slot away again. Its plans are kept (`keepPlans`).
 */
export async function holdOffRebuild(tx: Transaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${ledgerLock}), ${keepPlans}`);
}

/** For many who ask at once, such as all heartbeats behind a `FLUSHALL`: they share a rebuild and its connection. */
export function createRebuildLedger(deps: RebuildDeps): () => Promise<void> {
  const together = sharedCall<'ledger', void>(() => rebuildLedger(deps));
  return () => together('ledger');
}

/**
 * Tells a ledger that has forgotten everything what the record knows, without waiting for the next words of the servers.
 * One dispatcher does it; the others wait and find it done. A whole ledger is left as it is.
 */
async function rebuildLedger(deps: RebuildDeps): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(${ledgerLock})`);
    if (await deps.reservations.isWhole()) return;
    await deps.reservations.rebuild(await truths(tx, deps.startingLimit));
  });
}

interface OccupantRow extends Record<string, unknown> {
  readonly server_id: string;
  readonly session_id: string;
  readonly starting: boolean;
}

async function truths(tx: Transaction, startingLimit: number): Promise<ServerTruth[]> {
  // Whoever is reading for a heartbeat is waited for, and its word comes too late.
  await tx.query(
    `UPDATE agent_servers SET reported = ${nextReport}
     FROM (SELECT id FROM agent_servers ORDER BY id FOR NO KEY UPDATE) AS locked WHERE locked.id = agent_servers.id`,
  );
  // What came and ended behind a server's last word may occupy its slot still.
  const occupants = await tx.query<OccupantRow>(
    `SELECT attempts.server_id, session_id, sessions.state = 'starting' AS starting
     FROM attempts JOIN sessions ON sessions.id = attempts.session_id WHERE attempts.state = 'live'
     UNION ALL
     SELECT server_id, session_id, false FROM attempts JOIN agent_servers ON agent_servers.id = server_id
     WHERE state NOT IN ('live', 'refused') AND ended_at > seen_at
       AND attempts.created_at > seen_at - $1 * interval '1 millisecond'`,
    [reservationMs],
  );
  const byServer = Map.groupBy(occupants, (row) => row.server_id);
  return (await listServers(tx))
    .filter((row) => usableCapacity(row) > 0)
    .map((row) => {
      const own = byServer.get(row.id) ?? [];
      const held = row.status?.held.map((each) => each.sessionId) ?? [];
      return {
        ...offerOf(row, startingLimit),
        starting: own.filter((each) => each.starting).length,
        sessions: [...own.map((each) => each.session_id), ...held],
        gone: [],
      };
    });
}
