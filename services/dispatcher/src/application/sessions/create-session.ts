import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { placementClass } from '@lemniscate/shared/queue/placement-class.ts';
import { queueDelaySeconds, usualPriority } from '@lemniscate/shared/queue/priority.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import { checkCredentials } from '../agents/agent-credentials.ts';
import { defaultAgent, loadAgent } from '../agents/agents.ts';
import type { FrozenAgent } from '../agents/agents.ts';
import { loadSkills } from '../agents/skills.ts';
import type { FrozenSkill } from '../agents/skills.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { refuseFullBacklog } from '../admission/backlog-bound.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import { loadProjectPolicy } from '../projects/project.ts';
import type { ProjectTerms } from '../projects/project.ts';
import { refuseRevoked, takeTurns } from '../revocation/revoked-users.ts';
import type { Signals } from '../signals.ts';
import { checkOrder } from '@lemniscate/shared/session/check-order.ts';
import type { CheckedOrder, ModelOffer, SessionRequest } from '@lemniscate/shared/session/check-order.ts';
import { checkPinnedServer, checkStoredBundle } from './check-references.ts';

export interface CreateSessionDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly credentials: CredentialStore;
  readonly newId: NewId;
  readonly models: ModelOffer;
  /** Sessions of one project that may wait, where the project sets no bound of its own. */
  readonly maxBacklog: number;
}

/**
 * Step 1 of a session: the row, the opening audit entry, the first event and the outbox row in one transaction, and
 * nothing at all if any of them fails. A repeat with the same idempotency key gets the session of the first.
 * @param alsoNote writes more into the same transaction, behind the session's row
 * @returns the session's id
 * @throws CodedError for unknown names; `idempotency_mismatch` when the key came with another request before
 */
export async function createSession(
  deps: CreateSessionDeps,
  person: Person,
  request: SessionRequest,
  idempotencyKey: string | null,
  alsoNote?: (tx: Transaction, id: string) => Promise<void>,
  /** `traceparent` of the request; null where nothing is traced. */
  trace: string | null = null,
): Promise<string> {
  const claim = idempotencyKey === null ? null : { key: idempotencyKey, hash: requestHash(request) };
  if (claim !== null) {
    const earlier = await findEarlier(deps.database, person, claim);
    if (earlier !== null) return earlier;
  }
  const frozen = await loadProjectPolicy(deps.database, request.project);
  const agent = await loadAgent(deps.database, request.project, request.agent ?? defaultAgent);
  await checkCredentials(deps.database, deps.credentials, frozen.policy, agent);
  const skills = await loadSkills(deps.database, request.project, agent.definition.skills);
  const order = { ...checkOrder(request, frozen.policy, deps.models, agent.definition), agent, skills };
  const id = deps.newId('session');
  const created = await deps.database
    .transaction(async (tx) => {
      await takeTurns(tx, person.subject, 'opening');
      await refuseRevoked(tx, person.subject);
      await checkPinnedServer(tx, request, person);
      await Promise.all([
        checkStoredBundle(tx, request),
        refuseFullBacklog(tx, request, frozen.queue.maxBacklog ?? deps.maxBacklog),
      ]);
      // Sent together, executed in this order: the others refer to the session's row.
      await Promise.all([
        insertSession(tx, id, request, order, frozen, person, trace),
        claim === null ? undefined : claimKey(tx, person, claim, id),
        openRecord(deps, tx, id, request, order, frozen, person),
        tx.query('INSERT INTO outbox (session_id, generation) VALUES ($1, 1)', [id]),
      ]);
      await alsoNote?.(tx, id);
      return id;
    })
    .catch((error: unknown) => {
      if (error instanceof KeyTaken) return null;
      throw error;
    });
  if (created !== null) {
    deps.signals.send('outbox', undefined);
    deps.events.announce(id);
    return id;
  }
  // A concurrent twin won the key; its transaction has committed, or ours would have got the key.
  const winner = claim === null ? null : await findEarlier(deps.database, person, claim);
  if (winner === null) throw new Error('the winner of an idempotency key is gone');
  return winner;
}

/** What a request was resolved to, frozen into the session. */
interface ResolvedOrder extends CheckedOrder {
  readonly agent: FrozenAgent;
  readonly skills: readonly FrozenSkill[];
}

interface Claim {
  readonly key: string;
  readonly hash: string;
}

/** Rolls the loser's transaction back; never leaves this file. */
class KeyTaken extends Error {}

// `wait` says how to answer and is not part of what was asked for.
function requestHash(request: SessionRequest): string {
  const { wait: _, ...asked } = request;
  return createHash('sha256')
    .update(canonicalize(asked) ?? '')
    .digest('hex');
}

async function findEarlier(tx: Transaction, person: Person, claim: Claim): Promise<string | null> {
  const [row] = await tx.query<{ request_hash: string; session_id: string }>(
    'SELECT request_hash, session_id FROM idempotency_keys WHERE caller = $1 AND key = $2',
    [person.subject, claim.key],
  );
  if (row === undefined) return null;
  if (row.request_hash !== claim.hash)
    throw new CodedError(
      'idempotency_mismatch',
      `Idempotency-Key "${claim.key}" was used for another request (session ${row.session_id}). Take a new key.`,
      { session: row.session_id },
    );
  return row.session_id;
}

async function claimKey(tx: Transaction, person: Person, claim: Claim, sessionId: string): Promise<void> {
  const rows = await tx.query(
    `INSERT INTO idempotency_keys (caller, key, request_hash, session_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT DO NOTHING RETURNING key`,
    [person.subject, claim.key, claim.hash, sessionId],
  );
  if (rows.length === 0) throw new KeyTaken();
}

async function insertSession(
  tx: Transaction,
  id: string,
  request: SessionRequest,
  order: ResolvedOrder,
  frozen: ProjectTerms,
  person: Person,
  trace: string | null,
): Promise<void> {
  const priority = request.priority ?? usualPriority(request.interactive, request.surface);
  await tx.query(
    `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
       execution, opened_by, policy, policy_digest, pinned_server, bounds, follow_ups, placement_class, priority,
       queue_delay_seconds, agent, agent_version, agent_definition, skills, memory_writes,
       trace_context)
     VALUES ($1, $2, 'pending', 'queued', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
       $20, $21, $22, $23, $24)`,
    [
      id,
      request.project,
      request.instruction,
      JSON.stringify(request.repository),
      order.runtime,
      order.model,
      request.surface,
      request.interactive,
      request.execution,
      person.subject,
      JSON.stringify(frozen.policy),
      frozen.digest,
      request.server ?? null,
      request.bounds === undefined ? null : JSON.stringify(request.bounds),
      request.followUps,
      request.server === undefined ? classOf(request, order, frozen) : pinnedPool,
      priority,
      queueDelaySeconds(priority),
      order.agent.id,
      order.agent.version,
      JSON.stringify(order.agent.definition),
      JSON.stringify(order.skills),
      // What somebody learnt who only looks in must not steer those who belong here.
      hasRole(person, request.project, 'member', 'project_admin'),
      trace,
    ],
  );
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

async function openRecord(
  deps: CreateSessionDeps,
  tx: Transaction,
  id: string,
  request: SessionRequest,
  order: ResolvedOrder,
  frozen: ProjectTerms,
  person: Person,
): Promise<void> {
  await Promise.all([
    deps.events.append(tx, id, 0, [
      { type: 'state', state: 'pending', phase: 'queued', reason: null, attempt: 0, server: null },
    ]),
    deps.audit.append(tx, sessionChain(id), [
      {
        type: 'session.opened',
        subject: person.subject,
        body: {
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
        },
      },
    ]),
  ]);
}
