import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { checkOrder } from '@lemniscate/shared/session/check-order.ts';
import type { ModelOffer, SessionRequest } from '@lemniscate/shared/session/check-order.ts';
import type { Person } from '../identity.ts';
import { checkCredentials } from '../agents/agent-credentials.ts';
import { defaultAgent } from '../agents/agents.ts';
import { loadSkills } from '../agents/skills.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import type { Signals } from '../signals.ts';
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
  const { openings } = deps;
  const claim = idempotencyKey === null ? null : { key: idempotencyKey, hash: requestHash(request) };
  if (claim !== null) {
    const earlier = await findEarlier(openings, person, claim);
    if (earlier !== null) return earlier;
  }
  const frozen = await openings.termsOf(request.project);
  const agent = await openings.agentOf(request.project, request.agent ?? defaultAgent);
  await checkCredentials(deps.database, deps.credentials, frozen.policy, agent);
  const skills = await loadSkills(deps.database, request.project, agent.definition.skills);
  const order = { ...checkOrder(request, frozen.policy, deps.models, agent.definition), agent, skills };
  const id = deps.newId('session');
  const opening: Opening = { id, request, order, frozen, person, claim, trace };
  const isOpen = await (alsoNote === undefined
    ? openings.open(opening)
    : openings.openAlone(opening, (tx) => alsoNote(tx, id)));
  if (isOpen) {
    deps.signals.send('outbox', request.server === undefined ? frozen.queue.pool : pinnedPool);
    deps.events.announce(id);
    return id;
  }
  // A concurrent twin won the key; its transaction has committed, or ours would have got the key.
  const winner = claim === null ? null : await findEarlier(openings, person, claim);
  if (winner === null) throw new Error('the winner of an idempotency key is gone');
  return winner;
}

// `wait` says how to answer and is not part of what was asked for.
function requestHash(request: SessionRequest): string {
  const { wait: _, ...asked } = request;
  return createHash('sha256')
    .update(canonicalize(asked) ?? '')
    .digest('hex');
}

async function findEarlier(openings: Openings, person: Person, claim: Claim): Promise<string | null> {
  const earlier = await openings.earlierOf(person.subject, claim.key);
  if (earlier === null) return null;
  if (earlier.requestHash !== claim.hash)
    throw new CodedError(
      'idempotency_mismatch',
      `Idempotency-Key "${claim.key}" was used for another request (session ${earlier.sessionId}). Take a new key.`,
      { session: earlier.sessionId },
    );
  return earlier.sessionId;
}
