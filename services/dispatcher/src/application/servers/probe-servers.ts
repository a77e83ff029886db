import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { eachAtMost } from '../each-at-most.ts';
import type { ProbedServer, ProbeServer } from '../ports/agent-servers.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ConfiguredServer } from './configured-server.ts';
import { fetchesItsOrders } from './configured-server.ts';
import { packPools } from './pack-pools.ts';
import { probeTurn } from './probe-turn.ts';
import type { ProbeLane } from './probe-turn.ts';
import { reportStatus } from './report-status.ts';
import type { ReportDeps } from './report-status.ts';
import { inShare } from './server-lists.ts';
import type { NamedServers, ServerLists } from './server-lists.ts';
import { listShare, serverColumns, usableCapacity } from './server-row.ts';
import type { ServerRow, ShareRow } from './server-row.ts';

export interface ProbeDeps extends ReportDeps {
  readonly clock: Clock;
  readonly probe: ProbeServer;
}

/**
 * Probes under way at once: a fleet of thousands must not open thousands of connections in one tick. Where it is this
 * process that is short of time, more at once would only let more of them run out of it.
 */
const atOnce: Readonly<Record<ProbeLane, number>> = { answering: 20, doubtful: 50 };

/** What each address last came to: only changes are told. */
export type ProbeMemory = Map<string, { readonly answers: boolean; readonly outcome: string }>;

/** Somebody to ask: an address of the list, or of a server that has joined. */
interface Asked {
  readonly url: string;
  /** Null: it has joined, and no list names it. */
  readonly named: ConfiguredServer | null;
}

/**
 * Asks this process' share of the servers for their status, those whose turn it is, and takes those out of the choice
 * that must not have sessions.
 */
export async function probeServers(
  deps: ProbeDeps,
  lists: ServerLists,
  lane: ProbeLane,
  memory: ProbeMemory,
): Promise<void> {
  const named = await lists.look();
  const rows = await listShare(deps.database, named.share);
  if (lane === 'answering') await keepListed(deps, named, rows);
  const asked = turnsOf(lane, named, rows, memory);
  await eachAtMost(atOnce[lane], asked, (each) => probeOne(deps, each, memory));
  if (lane === 'doubtful') return;
  for (const row of await listShare(deps.database, named.share))
    if (usableCapacity(row) === 0) await deps.reservations.withdraw(row.id);
  await packPools(deps);
}

/** Servers that nobody names any more get no more sessions; one that is named again does. */
async function keepListed(deps: ProbeDeps, named: NamedServers, rows: readonly ShareRow[]): Promise<void> {
  const gone = rows.filter((row) => row.origin === 'list' && row.listed && !named.byUrl.has(row.url));
  if (gone.length > 0 && named.steady) {
    await deps.database.query('UPDATE agent_servers SET listed = false WHERE id = ANY($1)', [
      gone.map(({ id }) => id),
    ]);
    deps.log.info({ gone: gone.map(({ url }) => url) }, 'agent servers were taken out of the list');
  }
  const back = rows.filter((row) => named.byUrl.has(row.url) && !(row.origin === 'list' && row.listed));
  if (back.length > 0)
    await deps.database.query(
      `UPDATE agent_servers SET listed = true, origin = 'list' WHERE id = ANY($1) AND pinned_to IS NULL`,
      [back.map(({ id }) => id)],
    );
}

function turnsOf(
  lane: ProbeLane,
  named: NamedServers,
  rows: readonly ShareRow[],
  memory: ProbeMemory,
): Asked[] {
  const known = new Set(rows.map(({ url }) => url));
  const strangers = [...named.byUrl.values()].filter(
    ({ url }) => !known.has(url) && inShare(url, named.share) && strangerLane(url, memory) === lane,
  );
  const due = rows.filter((row) => {
    const isAsked = named.byUrl.has(row.url) || (row.origin === 'joined' && row.listed);
    return isAsked && !fetchesItsOrders(row.url) && probeTurn(row) === lane;
  });
  return [
    ...strangers.map((server) => ({ url: server.url, named: server })),
    ...due.map(({ url }) => ({ url, named: named.byUrl.get(url) ?? null })),
  ];
}

const strangerLane = (url: string, memory: ProbeMemory): ProbeLane =>
  memory.get(url)?.answers === false ? 'doubtful' : 'answering';

async function probeOne(deps: ProbeDeps, asked: Asked, memory: ProbeMemory): Promise<void> {
  const { url } = asked;
  const found = await tryProbe(deps, asked);
  if (memory.get(url)?.outcome === found.outcome) return;
  memory.set(url, found);
  if (found.answers) deps.log.info({ url }, `agent server ${found.outcome}`);
  else deps.log.warn({ url }, `agent server cannot be used: ${found.outcome}`);
}

async function tryProbe(
  deps: ProbeDeps,
  { url, named }: Asked,
): Promise<{ answers: boolean; outcome: string }> {
  try {
    const probed = await deps.probe(url);
    if (named !== null) await registerServer(deps.database, probed.serverId, named);
    await reportStatus(deps, probed.serverId, probed.status, {
      answerMs: Math.round(probed.answerMs),
      aheadMs: aheadOf(deps.clock, probed),
    });
    return { answers: true, outcome: `answers as ${probed.serverId}` };
  } catch (error) {
    if (isCodedError(error, 'service_unreachable') || isCodedError(error, 'certificate_refused')) {
      await noteProbeFailure(deps, url, error);
      return { answers: false, outcome: error.message };
    }
    throw error;
  }
}

/** Half of the way there and half of the way back: what is left is the distance of the clocks. */
function aheadOf(clock: Clock, { status, answerMs }: ProbedServer): number | null {
  if (status.now === undefined) return null;
  return Math.round(Date.parse(status.now) - (clock.now().getTime() - answerMs / 2));
}

/**
 * Nobody answered at the address. Who was not there itself to read an answer in time knows nothing of the server: it is asked
 * again at the next look.
 */
export async function noteProbeFailure(
  deps: Pick<ProbeDeps, 'database'> & { readonly reservations: Pick<Reservations, 'withdraw'> },
  url: string,
  error: CodedError,
): Promise<void> {
  const { how, isOurs } = error.details;
  if (isOurs === true) return;
  const rows = await deps.database.query<ServerRow>(
    `UPDATE agent_servers SET probe_failures = probe_failures + 1, probe_failure = $2 WHERE url = $1
     RETURNING ${serverColumns}`,
    [url, (typeof how === 'string' ? how : error.message).slice(0, 500)],
  );
  // Not only with its next heartbeat: it would be given sessions meanwhile.
  for (const row of rows) if (usableCapacity(row) === 0) await deps.reservations.withdraw(row.id);
}

async function registerServer(tx: Transaction, serverId: string, server: ConfiguredServer): Promise<void> {
  // No upper bound of our own: what the server reports counts.
  const capacity = server.capacity ?? 100_000;
  await tx.query(
    `INSERT INTO agent_servers (id, url, pool, capacity, origin) VALUES ($1, $2, $3, $4, 'list')
     ON CONFLICT (id) DO UPDATE SET url = $2, pool = $3, capacity = $4, pinned_to = NULL, listed = true, origin = 'list'
     WHERE (agent_servers.url, agent_servers.pool, agent_servers.capacity, agent_servers.listed, agent_servers.origin)
       IS DISTINCT FROM ($2, $3, $4, true, 'list')`,
    [serverId, server.url, server.pool, capacity],
  );
}
