import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { placementClass } from '@lemniscate/shared/queue/placement-class.ts';
import { queueDelaySeconds, usualPriority } from '@lemniscate/shared/queue/priority.ts';
import type { CheckedOrder, SessionRequest } from '@lemniscate/shared/session/check-order.ts';
import { refuseFullBacklog } from '../admission/backlog-bound.ts';
import type { FrozenAgent } from '../agents/agents.ts';
import type { FrozenSkill } from '../agents/skills.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog, ChainAppend } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ProjectTerms } from '../projects/project.ts';
import { refuseRevoked, takeTurns } from '../revocation/revoked-users.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import { selectUnstartedViews } from './session-view.ts';
import { checkPinnedServer, checkStoredBundle } from './check-references.ts';

/** A session that is about to be opened, resolved and checked against what is frozen into it. */
export interface Opening {
  readonly id: string;
  readonly request: SessionRequest;
  readonly order: CheckedOrder & { readonly agent: FrozenAgent; readonly skills: readonly FrozenSkill[] };
  readonly frozen: ProjectTerms;
  readonly person: Person;
  readonly claim: Claim | null;
  /** `traceparent` of the request; null where nothing is traced. */
  readonly trace: string | null;
}

/** An idempotency key and what was asked under it. */
export interface Claim {
  readonly key: string;
  readonly hash: string;
}

export interface OpenDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'appendPlaced'>;
  /** Sessions of one project that may wait, where the project sets no bound of its own. */
  readonly maxBacklog: number;
}

/**
 * Step 1 of a session, for all that are opened in the same moment: rows, opening audit entries, first events and outbox
 * rows, in as many statements as for one and in two round trips. All that is written travels with the commit, before anybody
 * knows whether each row is there. Where one lost its idempotency key to a twin, its event refers to no session: nothing of the
 * transaction is kept, and each has to be opened by itself (`openOne`).
 * @returns what reads the sessions as the API shows them, once the transaction has committed
 * @throws CodedError what stands against any one of them
 */
export async function openTogether(
  deps: OpenDeps,
  tx: Transaction,
  openings: readonly Opening[],
): Promise<() => Promise<ReadonlyMap<string, SessionView>>> {
  await refuseOpenings(deps, tx, openings);
  insertSessions(tx, openings).catch(() => undefined);
  const views = await noteOpened(deps, tx, openings);
  return async () => new Map((await views.read).map((view) => [view.id, view]));
}

/**
 * The same for one, which may have lost its idempotency key.
 * @returns the session as it was opened; null when a twin has the key
 */
export async function openOne(
  deps: OpenDeps,
  tx: Transaction,
  opening: Opening,
): Promise<SessionView | null> {
  await refuseOpenings(deps, tx, [opening]);
  const opened = await insertSessions(tx, [opening]);
  if (!opened.has(opening.id)) return null;
  const [view] = await (await noteOpened(deps, tx, [opening])).read;
  return view ?? null;
}

/** Sent together, executed in this order: nobody is revoked between the lock and the look. */
async function refuseOpenings(deps: OpenDeps, tx: Transaction, openings: readonly Opening[]): Promise<void> {
  const subjects = [...new Set(openings.map(({ person }) => person.subject))].toSorted();
  await Promise.all([
    takeTurns(tx, subjects, 'opening'),
    refuseRevoked(tx, subjects),
    ...openings.map(({ request, person }) => checkPinnedServer(tx, request, person)),
    ...openings.map(({ request }) => checkStoredBundle(tx, request)),
    refuseFullBacklogs(deps, tx, openings),
  ]);
}

/**
 * What belongs to the rows of sessions: executed behind them, to which it refers.
 * @returns once all is sent; `read` has the sessions as the API shows them
 */
async function noteOpened(
  deps: OpenDeps,
  tx: Transaction,
  openings: readonly Opening[],
): Promise<{ readonly read: Promise<readonly SessionView[]> }> {
  const ids = openings.map(({ id }) => id);
  const noted = deps.events.appendPlaced(
    tx,
    ids.map((sessionId) => ({ sessionId, attempt: 0, position: 1, event: firstEvent })),
  );
  const queued = tx.query(
    `INSERT INTO outbox (session_id, generation, placement_class, lane, queue_key)
     SELECT id, 1, placement_class, lane, created_at + queue_delay_seconds * interval '1 second'
     FROM sessions WHERE id = ANY ($1) ORDER BY id`,
    [ids],
  );
  const read = selectUnstartedViews(tx, ids);
  // Whoever does not wait for them hears of their failure from the commit.
  Promise.all([noted, queued, read]).catch(() => undefined);
  await deps.audit.appendEach(
    tx,
    openings.map((opening) => openingEntry(deps, opening)),
  );
  return { read };
}

const firstEvent = {
  type: 'state',
  state: 'pending',
  phase: 'queued',
  reason: null,
  attempt: 0,
  server: null,
} as const;

/** In the order of the projects' names: two who count in several must not wait for each other in a ring. */
async function refuseFullBacklogs(
  deps: OpenDeps,
  tx: Transaction,
  openings: readonly Opening[],
): Promise<void> {
  const queued = openings.filter(({ request }) => request.server === undefined);
  const byProject = Map.groupBy(queued, ({ request }) => request.project);
  for (const [project, adding] of [...byProject].toSorted(([left], [right]) => (left < right ? -1 : 1)))
    await refuseFullBacklog(tx, {
      project,
      adding: adding.length,
      max: adding[0]?.frozen.queue.maxBacklog ?? deps.maxBacklog,
    });
}

/** As the statement below takes them. */
function rowOf({ id, request, order, frozen, person, claim, trace }: Opening, policyAt: number) {
  const priority = request.priority ?? usualPriority(request.interactive, request.surface);
  return {
    id,
    project_id: request.project,
    instruction: request.instruction,
    repository: request.repository,
    runtime: order.runtime,
    model: order.model,
    surface: request.surface,
    interactive: request.interactive,
    execution: request.execution,
    opened_by: person.subject,
    policy_at: policyAt,
    policy_digest: frozen.digest,
    pinned_server: request.server ?? null,
    bounds: request.bounds ?? null,
    follow_ups: request.followUps,
    placement_class: request.server === undefined ? classOf(request, order, frozen) : pinnedPool,
    priority,
    queue_delay_seconds: queueDelaySeconds(priority),
    agent: order.agent.id,
    agent_version: order.agent.version,
    agent_definition: order.agent.definition,
    skills: order.skills,
    // What somebody learnt who only looks in must not steer those who belong here.
    memory_writes: hasRole(person, request.project, 'member', 'project_admin'),
    trace_context: trace,
    key: claim?.key ?? null,
    request_hash: claim?.hash ?? null,
  };
}

/** Columns of a session's row at its birth, and their types. */
const columnTypes = {
  id: 'text',
  project_id: 'text',
  instruction: 'text',
  repository: 'jsonb',
  runtime: 'text',
  model: 'text',
  surface: 'text',
  interactive: 'boolean',
  execution: 'text',
  opened_by: 'text',
  policy_digest: 'text',
  pinned_server: 'text',
  bounds: 'jsonb',
  follow_ups: 'boolean',
  placement_class: 'text',
  priority: 'text',
  queue_delay_seconds: 'int',
  agent: 'text',
  agent_version: 'int',
  agent_definition: 'jsonb',
  skills: 'jsonb',
  memory_writes: 'boolean',
  trace_context: 'text',
} as const satisfies Partial<Record<keyof ReturnType<typeof rowOf>, string>>;

const columns = Object.keys(columnTypes).join(', ');

// Keys in their order, as above. The first event's position is taken with the row. Policies come beside the rows, each once:
// to parse the same one for each session was half of what their insertion cost.
const insertStatement = `
WITH given AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS row (
    ${Object.entries(columnTypes)
      .map(([name, type]) => `${name} ${type}`)
      .join(', ')}, policy_at int, key text, request_hash text)
), policies AS MATERIALIZED (
  SELECT policy, place - 1 AS policy_at FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS each (policy, place)
), claimed AS (
  INSERT INTO idempotency_keys (caller, key, request_hash, session_id)
  SELECT opened_by, key, request_hash, id FROM given WHERE key IS NOT NULL ORDER BY opened_by, key
  ON CONFLICT DO NOTHING RETURNING session_id
)
INSERT INTO sessions (${columns}, policy, state, phase, event_position)
SELECT ${columns}, policy, 'pending', 'queued', 1 FROM given JOIN policies USING (policy_at)
WHERE key IS NULL OR id IN (SELECT session_id FROM claimed)
RETURNING id`;

async function insertSessions(tx: Transaction, openings: readonly Opening[]): Promise<ReadonlySet<string>> {
  const policies = [...new Set(openings.map(({ frozen }) => frozen.policy))];
  const rows = await tx.query<{ id: string }>(insertStatement, [
    JSON.stringify(openings.map((opening) => rowOf(opening, policies.indexOf(opening.frozen.policy)))),
    JSON.stringify(policies),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Which servers can take it: what the project asks of all its sessions, and what this one asks beside. */
function classOf(request: SessionRequest, order: CheckedOrder, { queue, policy }: ProjectTerms): string {
  return placementClass({
    pool: queue.pool,
    runtime: order.runtime,
    profile: policy.sandboxProfile,
    architecture: request.requires?.architecture ?? queue.architecture ?? undefined,
    labels: [...queue.labels, ...(request.requires?.labels ?? [])],
  });
}

function openingEntry(deps: OpenDeps, { id, request, order, frozen, person }: Opening): ChainAppend {
  const body = {
    project: request.project,
    policyDigest: frozen.digest,
    instructionCommitment: deps.audit.commit('instruction', request.instruction),
    repositoryKind: request.repository.kind,
    agent: order.agent.id,
    agentVersion: order.agent.version,
    skills: order.skills.map(({ name, version }) => `${name}@${version}`),
    runtime: order.runtime,
    model: order.model,
    surface: request.surface,
    interactive: request.interactive,
    execution: request.execution,
    kind: person.kind,
  };
  return { chain: sessionChain(id), drafts: [{ type: 'session.opened', subject: person.subject, body }] };
}
