import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { createSessionSchema } from '@lemniscate/shared/api/session.ts';
import type { Cause, Refusal } from '@lemniscate/shared/api/delivery.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { scopeOf } from '@lemniscate/shared/identity/scopes.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { FindPerson } from '../access/known-person.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import { newestComments } from '../objects/comments.ts';
import { recordAct } from '../objects/history.ts';
import { objectColumns } from '../objects/object-row.ts';
import type { ObjectRow } from '../objects/object-row.ts';
import { readWorkspace } from '../objects/workspace.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Log } from '../ports/log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { createSession } from '../sessions/create-session.ts';
import type { CreateSessionDeps } from '../sessions/create-session.ts';
import { traceWish } from '../telemetry/trace-wish.ts';
import type { StartTerms } from './delivery.ts';
import { disableTrigger } from './disable-trigger.ts';
import { contextComments, contextOf } from './session-context.ts';

export interface StartWishDeps extends CreateSessionDeps {
  readonly audit: AuditLog;
  readonly self: string;
  readonly log: Log;
  readonly findPerson: FindPerson;
  /** Sessions that one agent may be started in within an hour without a direct call. */
  readonly agentStartsPerHour: number;
  readonly tracer?: Tracer | null;
}

interface WishRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly cause: Cause;
  readonly agent: string;
  readonly owner: string;
  readonly actor_kind: 'person' | 'agent' | 'external';
  readonly acted_by: string;
  readonly member_by: string | null;
  readonly trigger_id: string | null;
  readonly hook_id: string | null;
  readonly object_id: string | null;
  readonly comment_id: string | null;
  readonly depth: number;
  readonly terms: StartTerms;
  readonly attempts: number;
}

/** Most of one pass; the next takes the rest. */
const atOnce = 50;
/** How often a start is tried that fails for a reason that may pass, and how long is waited in between. */
const mostAttempts = 6;
const backoffSeconds = 5;

/** Nothing was started, for good. Never leaves this file. */
class Refused extends Error {
  readonly reason: Refusal;

  constructor(reason: Refusal, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Somebody else has started it in the meantime; never leaves this file. */
class AlreadyStarted extends Error {}

/**
 * Starts the sessions that were asked for, each once: whichever dispatcher comes first marks the wish in the transaction
 * that opens the session. What cannot be started says why.
 * @returns how many were started
 */
export async function startWishes(deps: StartWishDeps): Promise<number> {
  const wishes = await deps.database.query<WishRow>(
    `UPDATE deliveries SET attempts = attempts + 1, due_at = now() + make_interval(secs => ${backoffSeconds} * (attempts + 1))
     WHERE id IN (SELECT id FROM deliveries WHERE state = 'pending' AND due_at <= now() ORDER BY due_at, id
       LIMIT ${atOnce} FOR UPDATE SKIP LOCKED)
     RETURNING id, project_id, cause, agent, owner, actor_kind, acted_by, member_by, trigger_id, hook_id, object_id, comment_id, depth,
       terms, attempts`,
  );
  let started = 0;
  for (const wish of wishes) if (await startOne(deps, wish)) started += 1;
  return started;
}

async function startOne(deps: StartWishDeps, wish: WishRow): Promise<boolean> {
  const span = traceWish(deps.tracer ?? null, wish);
  try {
    await start(deps, wish, span?.context ?? null);
    return true;
  } catch (error) {
    if (error instanceof AlreadyStarted) return false;
    span?.fail(refusalOf(error).reason);
    if (!isFinal(error) && wish.attempts < mostAttempts) {
      deps.log.warn({ err: error, delivery: wish.id }, 'a session could not be started; it is tried again');
      return false;
    }
    await refuseWish(deps, wish, refusalOf(error));
    return false;
  } finally {
    span?.end();
  }
}

/** Faults of ours and a full backlog may pass; what a coded error of the request says stays true. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof Refused || (isCodedError(error) && error.status < 500 && error.code !== 'backlog_full')
  );
}

function refusalOf(error: unknown): { reason: Refusal; message: string } {
  if (error instanceof Refused) return { reason: error.reason, message: error.message };
  if (!isCodedError(error))
    return { reason: 'session_refused', message: 'The session could not be started for a reason of ours.' };
  if (error.code === 'agent_unknown') return { reason: 'agent_unknown', message: error.message };
  if (error.code === 'login_revoked') return { reason: 'owner_disabled', message: error.message };
  return { reason: 'session_refused', message: `${error.message} [${error.code}]` };
}

async function start(deps: StartWishDeps, wish: WishRow, trace: string | null): Promise<void> {
  const owner = await ownerOf(deps, wish);
  const object = await readObject(deps.database, wish.object_id);
  const repository =
    wish.terms.repository ??
    object?.repository ??
    (await readWorkspace(deps.database, wish.project_id)).repository;
  if (repository === null)
    throw new Refused(
      'repository_missing',
      `Nothing says what the session works on. Give the object a repository, or the project one: PUT /v1/projects/${wish.project_id}/workspace.`,
    );
  const comments = object === null ? [] : await newestComments(deps.database, object.id, contextComments);
  const instruction = contextOf({
    agent: wish.agent,
    cause: wish.cause,
    terms: wish.terms,
    object,
    comments,
    comment: wish.comment_id,
  });
  const request = createSessionSchema.parse({
    instruction,
    project: wish.project_id,
    agent: wish.agent,
    repository,
    surface: 'trigger',
    ...(wish.terms.model === undefined ? {} : { model: wish.terms.model }),
  });
  await createSession(
    deps,
    owner,
    request,
    null,
    (tx, session) => noteOrigin(deps, tx, wish, session),
    trace,
  );
}

/** The person whose rights the session has. A trigger of somebody who may not act any more is put out of use. */
async function ownerOf(deps: StartWishDeps, wish: WishRow): Promise<Person> {
  const owner = await deps.findPerson(deps.database, wish.owner);
  if (owner === null)
    throw new Refused('owner_disabled', `Nobody knows ${wish.owner} any more, in whose name it would run.`);
  if (!hasRole(owner, wish.project_id, 'member', 'project_admin', 'administrator'))
    throw new Refused(
      'owner_not_member',
      `${wish.owner}, in whose name it would run, may not open sessions in project "${wish.project_id}".`,
    );
  // as if it asked itself: what may write comments alone starts no session by one
  const scope = scopeOf('sessions', 'POST');
  if (owner.scopes !== undefined && !owner.scopes.includes(scope))
    throw new Refused(
      'owner_not_member',
      `${wish.owner}, in whose name it would run, does not have the scope ${scope}.`,
    );
  return owner;
}

async function readObject(tx: Transaction, id: string | null): Promise<ObjectRow | null> {
  if (id === null) return null;
  const [row] = await tx.query<ObjectRow>(`SELECT ${objectColumns} FROM objects WHERE id = $1`, [id]);
  return row ?? null;
}

/** In the transaction that opens the session: the wish is used up, and the session knows where it comes from. */
async function noteOrigin(
  deps: StartWishDeps,
  tx: Transaction,
  wish: WishRow,
  session: string,
): Promise<void> {
  await refuseTooMany(deps, tx, wish);
  const [taken] = await tx.query(
    `UPDATE deliveries SET state = 'started', session_id = $2, terms = NULL WHERE id = $1 AND state = 'pending' RETURNING id`,
    [wish.id, session],
  );
  if (taken === undefined) throw new AlreadyStarted();
  await tx.query('UPDATE sessions SET object_id = $2 WHERE id = $1', [session, wish.object_id]);
  await tx.query(
    `INSERT INTO session_origins (session_id, delivery_id, project_id, agent, cause, trigger_id, object_id, comment_id,
       depth, asked_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      session,
      wish.id,
      wish.project_id,
      wish.agent,
      wish.cause,
      wish.trigger_id,
      wish.object_id,
      wish.comment_id,
      wish.depth,
      wish.actor_kind === 'person' ? wish.acted_by : wish.member_by,
    ],
  );
  if (wish.object_id !== null)
    await recordAct(
      tx,
      wish.object_id,
      { kind: wish.actor_kind, id: wish.acted_by, member: wish.owner },
      'session_started',
      { session, agent: wish.agent, cause: wish.cause },
    );
  await deps.audit.append(tx, reviewChain(wish.project_id), [
    {
      type: 'delivery.started',
      subject: wish.owner,
      body: {
        delivery: wish.id,
        cause: wish.cause,
        session,
        agent: wish.agent,
        owner: wish.owner,
        actorKind: wish.actor_kind,
        depth: wish.depth,
        ...(wish.actor_kind === 'person' ? { actor: wish.acted_by } : {}),
        ...(wish.trigger_id === null ? {} : { trigger: wish.trigger_id }),
      },
    },
  ]);
}

/** Starts of one agent take turns while they are counted. */
async function refuseTooMany(deps: StartWishDeps, tx: Transaction, wish: WishRow): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('agent-starts:' || $1, 0))`, [wish.agent]);
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM session_origins WHERE agent = $1 AND created_at > now() - interval '1 hour'`,
    [wish.agent],
  );
  if ((row?.n ?? 0) < deps.agentStartsPerHour) return;
  throw new Refused(
    'rate_limited',
    `Agent "${wish.agent}" was started ${deps.agentStartsPerHour} times within an hour. Call it directly, or wait.`,
  );
}

async function refuseWish(
  deps: StartWishDeps,
  wish: WishRow,
  refusal: { readonly reason: Refusal; readonly message: string },
): Promise<void> {
  const { reason } = refusal;
  await deps.database.transaction(async (tx) => {
    const [refused] = await tx.query(
      `UPDATE deliveries SET state = 'refused', reason = $2, message = $3, terms = NULL
       WHERE id = $1 AND state = 'pending' RETURNING id`,
      [wish.id, reason, refusal.message.slice(0, 1_000)],
    );
    if (refused === undefined) return;
    // Before the entry: whoever changes a trigger locks it first, then the chain.
    if (reason === 'owner_disabled' || reason === 'owner_not_member')
      await disableTrigger(deps, tx, { trigger: wish.trigger_id, hook: wish.hook_id }, reason);
    await deps.audit.append(tx, reviewChain(wish.project_id), [
      {
        type: 'delivery.refused',
        subject: deps.self,
        body: { delivery: wish.id, cause: wish.cause, reason, agent: wish.agent, owner: wish.owner },
      },
    ]);
  });
}
