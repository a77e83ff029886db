import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ProbeServer } from '../ports/agent-servers.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ConfiguredServer } from './configured-server.ts';
import { reportStatus } from './report-status.ts';
import type { ReportDeps } from './report-status.ts';
import { listServers, offerOf, usableCapacity } from './server-row.ts';

export interface ProbeDeps extends ReportDeps {
  readonly configured: readonly ConfiguredServer[];
  readonly probe: ProbeServer;
}

/** Probes under way at once: a fleet of thousands must not open thousands of connections in one tick. */
const atOnce = 50;

/** Whether each address answered at the last look, so that only changes are told. */
export type ProbeMemory = Map<string, string>;

/** Asks every configured server for its status and takes silent ones out of the choice. */
export async function probeServers(deps: ProbeDeps, memory: ProbeMemory): Promise<void> {
  for (let from = 0; from < deps.configured.length; from += atOnce)
    await Promise.all(
      deps.configured.slice(from, from + atOnce).map((server) => probeOne(deps, server, memory)),
    );
  await withdrawSilent(deps);
}

async function probeOne(deps: ProbeDeps, server: ConfiguredServer, memory: ProbeMemory): Promise<void> {
  const outcome = await tryProbe(deps, server);
  if (memory.get(server.url) === outcome) return;
  memory.set(server.url, outcome);
  if (outcome.startsWith('answers')) deps.log.info({ url: server.url }, `agent server ${outcome}`);
  else deps.log.warn({ url: server.url }, `agent server cannot be used: ${outcome}`);
}

async function tryProbe(deps: ProbeDeps, server: ConfiguredServer): Promise<string> {
  try {
    const { serverId, status } = await deps.probe(server.url);
    await registerServer(deps.database, serverId, server);
    await reportStatus(deps, serverId, status);
    return `answers as ${serverId}`;
  } catch (error) {
    if (isCodedError(error, 'service_unreachable') || isCodedError(error, 'certificate_refused'))
      return error.message;
    throw error;
  }
}

async function registerServer(tx: Transaction, serverId: string, server: ConfiguredServer): Promise<void> {
  // No upper bound of our own: what the server reports counts.
  const capacity = server.capacity ?? 100_000;
  await tx.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ($1, $2, $3, $4)
     ON CONFLICT (id) DO UPDATE SET url = $2, pool = $3, capacity = $4, pinned_to = NULL
     WHERE (agent_servers.url, agent_servers.pool, agent_servers.capacity) IS DISTINCT FROM ($2, $3, $4)`,
    [serverId, server.url, server.pool, capacity],
  );
}

async function withdrawSilent(deps: ProbeDeps): Promise<void> {
  for (const row of await listServers(deps.database))
    if (usableCapacity(row) === 0) await deps.reservations.withdraw(row.id);
}

/** Tells an empty ledger what the record knows, without waiting for the next words of the servers. */
export async function rebuildLedger(
  deps: Pick<ReportDeps, 'database' | 'reservations' | 'startingLimit'>,
): Promise<void> {
  const live = await deps.database.query<{ server_id: string; session_id: string; starting: boolean }>(
    `SELECT attempts.server_id, session_id, sessions.state = 'starting' AS starting
     FROM attempts JOIN sessions ON sessions.id = attempts.session_id WHERE attempts.state = 'live'`,
  );
  const byServer = Map.groupBy(live, (row) => row.server_id);
  for (const row of await listServers(deps.database)) {
    if (usableCapacity(row) === 0) continue;
    const held = row.status?.held.map((each) => each.sessionId) ?? [];
    const own = byServer.get(row.id) ?? [];
    await deps.reservations.correct({
      ...offerOf(row, deps.startingLimit),
      starting: own.filter((each) => each.starting).length,
      sessions: [...own.map((each) => each.session_id), ...held],
      gone: [],
    });
  }
}
