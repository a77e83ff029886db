import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { ProbeServer } from '../ports/agent-servers.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ConfiguredServer } from './configured-server.ts';
import { reportStatus } from './report-status.ts';
import type { ReportDeps } from './report-status.ts';
import { listServers, usableCapacity } from './server-row.ts';

export interface ProbeDeps extends ReportDeps {
  /** The list as it is now: it is read again each time. */
  readonly configured: () => Promise<readonly ConfiguredServer[]>;
  readonly clock: Clock;
  readonly probe: ProbeServer;
}

/** Probes under way at once: a fleet of thousands must not open thousands of connections in one tick. */
const atOnce = 50;

/** Whether each address answered at the last look, so that only changes are told. */
export type ProbeMemory = Map<string, string>;

/**
 * Asks every server of the list and every one that has joined for its status, and takes those out of the choice that
 * must not have sessions.
 */
export async function probeServers(deps: ProbeDeps, memory: ProbeMemory): Promise<void> {
  const configured = await deps.configured();
  await unlist(deps, configured, memory);
  const addresses = new Set(configured.map(({ url }) => url));
  const joined = (await listServers(deps.database)).filter(
    (row) => row.pinned_to === null && row.listed && !addresses.has(row.url),
  );
  const all: readonly ConfiguredServer[] = [
    ...configured,
    ...joined.map(({ url, pool, capacity }) => ({ url, pool, capacity })),
  ];
  for (let from = 0; from < all.length; from += atOnce)
    await Promise.all(all.slice(from, from + atOnce).map((server) => probeOne(deps, server, memory)));
  await withdrawUnusable(deps);
  await deps.reservations.pack(await packedPools(deps.database));
}

/** Addresses that were in the list of this process and are no longer: their servers get no more sessions. */
async function unlist(
  deps: ProbeDeps,
  configured: readonly ConfiguredServer[],
  memory: ProbeMemory,
): Promise<void> {
  const now = new Set(configured.map(({ url }) => url));
  const gone = [...(listed.get(memory) ?? [])].filter((url) => !now.has(url));
  listed.set(memory, now);
  if (gone.length === 0) return;
  await deps.database.query('UPDATE agent_servers SET listed = false WHERE url = ANY($1)', [gone]);
  for (const url of gone) memory.delete(url);
  deps.log.info({ gone }, 'agent servers were taken out of the list');
}
const listed = new WeakMap<ProbeMemory, ReadonlySet<string>>();

async function packedPools(tx: Transaction): Promise<string[]> {
  const rows = await tx.query<{ pool: string }>('SELECT pool FROM pool_settings WHERE packing');
  return rows.map(({ pool }) => pool);
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
    const { serverId, status, answerMs } = await deps.probe(server.url);
    await registerServer(deps.database, serverId, server);
    await noteMeasures(deps, serverId, status, answerMs);
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
     ON CONFLICT (id) DO UPDATE SET url = $2, pool = $3, capacity = $4, pinned_to = NULL, listed = true
     WHERE (agent_servers.url, agent_servers.pool, agent_servers.capacity, agent_servers.listed)
       IS DISTINCT FROM ($2, $3, $4, true)`,
    [serverId, server.url, server.pool, capacity],
  );
}

/** Half of the way there and half of the way back: what is left is the distance of the clocks. */
async function noteMeasures(
  deps: ProbeDeps,
  serverId: string,
  status: ServerStatus,
  answerMs: number,
): Promise<void> {
  const ahead =
    status.now === undefined
      ? null
      : Math.round(Date.parse(status.now) - (deps.clock.now().getTime() - answerMs / 2));
  await deps.database.query('UPDATE agent_servers SET answer_ms = $2, clock_ahead_ms = $3 WHERE id = $1', [
    serverId,
    Math.round(answerMs),
    ahead,
  ]);
}

async function withdrawUnusable(deps: ProbeDeps): Promise<void> {
  for (const row of await listServers(deps.database))
    if (usableCapacity(row) === 0) await deps.reservations.withdraw(row.id);
}
