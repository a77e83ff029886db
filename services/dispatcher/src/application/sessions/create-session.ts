import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { checkOrder } from '@lemniscate/shared/session/check-order.ts';
import type { ModelOffer, SessionRequest } from '@lemniscate/shared/session/check-order.ts';
import type { Person } from '../identity.ts';
import { checkCredentials } from '../agents/agent-credentials.ts';
import { defaultAgent, loadAgent } from '../agents/agents.ts';
import { loadSkills } from '../agents/skills.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { loadProjectPolicy } from '../projects/project.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import type { Signals } from '../signals.ts';
import type { Earlier } from './opening-look.ts';
import type { Claim, Opening } from './open-together.ts';
import type { Openings } from './openings.ts';

export interface CreateSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly credentials: CredentialStore;
  readonly newId: NewId;
  readonly models: ModelOffer;
  readonly openings: Openings;
}

/** A session that there is now. */
export interface CreatedSession {
  readonly id: string;
  /** As it was opened; null: it was there before. */
  readonly view: SessionView | null;
}

/**
 * Step 1 of a session: the row, the opening audit entry, the first event and the outbox row in one transaction, and
 * nothing at all if any of them fails. A repeat with the same idempotency key gets the session of the first.
 * @param alsoNote writes more into the same transaction, behind the session's row
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
): Promise<CreatedSession> {
  const { openings } = deps;
  const claim = idempotencyKey === null ? null : { key: idempotencyKey, hash: requestHash(request) };
  const name = request.agent ?? defaultAgent;
  const question = { caller: person.subject, key: claim?.key ?? null, project: request.project, agent: name };
  const seen = await openings.lookAt(question);
  if (seen.earlier !== null && claim !== null) return { id: sessionOf(seen.earlier, claim), view: null };
  // What was not there is asked for by itself: its error names what is.
  const frozen = seen.terms ?? (await loadProjectPolicy(deps.database, request.project));
  const agent = seen.agent ?? (await loadAgent(deps.database, request.project, name));
  await checkCredentials(deps.database, deps.credentials, frozen.policy, agent);
  const skills = await loadSkills(deps.database, request.project, agent.definition.skills);
  const order = { ...checkOrder(request, frozen.policy, deps.models, agent.definition), agent, skills };
  const id = deps.newId('session');
  const opening: Opening = { id, request, order, frozen, person, claim, trace };
  const view = await (alsoNote === undefined
    ? openings.open(opening)
    : openings.openAlone(opening, (tx) => alsoNote(tx, id)));
  if (view !== null) {
    deps.signals.send('outbox', request.server === undefined ? frozen.queue.pool : pinnedPool);
    deps.events.announce(id);
    return { id, view };
  }
  // A concurrent twin won the key; its transaction has committed, or ours would have got the key.
  const { earlier } = await openings.lookAt(question);
  if (earlier === null || claim === null) throw new Error('the winner of an idempotency key is gone');
  return { id: sessionOf(earlier, claim), view: null };
}

// `wait` says how to answer and is not part of what was asked for.
function requestHash(request: SessionRequest): string {
  const { wait: _, ...asked } = request;
  return createHash('sha256')
    .update(canonicalize(asked) ?? '')
    .digest('hex');
}

function sessionOf(earlier: Earlier, claim: Claim): string {
  if (earlier.requestHash !== claim.hash)
    throw new CodedError(
      'idempotency_mismatch',
      `Idempotency-Key "${claim.key}" was used for another request (session ${earlier.sessionId}). Take a new key.`,
      { session: earlier.sessionId },
    );
  return earlier.sessionId;
}
