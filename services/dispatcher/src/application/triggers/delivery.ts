import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { Cause, Refusal } from '@lemniscate/shared/api/delivery.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { auditSubject } from '../objects/actor.ts';
import type { Actor } from '../objects/actor.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Transaction } from '../ports/transaction.ts';

export interface DeliveryDeps {
  readonly audit: AuditLog;
  readonly newId: NewId;
  readonly self: string;
}

/** What a session is started with. Text of an object and its thread is added when it starts. */
export interface StartTerms {
  /** What the owner of a trigger wants done; absent: what the object and its thread ask. */
  readonly task?: string;
  /** What happened, for the agent: data from outside. */
  readonly event?: string;
  readonly repository?: RepositorySource;
  readonly model?: string;
}

/** Something that asks for a session. */
export interface StartWish {
  readonly project: string;
  readonly cause: Cause;
  readonly agent: string;
  /** Whose rights the session has. */
  readonly owner: string;
  readonly actor: Actor;
  readonly object?: string;
  readonly comment?: string;
  readonly trigger?: string;
  readonly hook?: string;
  readonly externalId?: string;
  readonly terms?: StartTerms;
}

/** Sessions that start each other end at this length of the chain: a person is then to look. */
export const maxDepth = 3;

/**
 * Writes down that a session is asked for, in the transaction in which it happened. It starts after the commit, once.
 * What can be refused now is, visibly: an agent's own comment never starts it again, and chains are bounded.
 * @returns the delivery's id
 */
export async function wishForSession(deps: DeliveryDeps, tx: Transaction, wish: StartWish): Promise<string> {
  const refused = refusedAtOnce(wish);
  if (refused !== null) return refuse(deps, tx, wish, refused.reason, refused.message);
  const id = deps.newId('delivery');
  await insert(tx, id, wish, 'pending', null, null);
  return id;
}

function refusedAtOnce({ actor, agent }: StartWish): { reason: Refusal; message: string } | null {
  if (actor.kind === 'agent' && actor.id === agent)
    return { reason: 'own_comment', message: `What ${agent} says itself does not start it again.` };
  if ((actor.depth ?? 0) > maxDepth)
    return {
      reason: 'loop_depth',
      message: `Agents have started each other ${maxDepth} times in a row; a person has to go on from here.`,
    };
  return null;
}

/** Writes down that nothing was started, and why. */
export async function refuse(
  deps: DeliveryDeps,
  tx: Transaction,
  wish: Omit<StartWish, 'agent' | 'owner'> & { readonly agent?: string; readonly owner?: string },
  reason: Refusal,
  message: string,
): Promise<string> {
  const id = deps.newId('delivery');
  await insert(tx, id, wish, 'refused', reason, message);
  await deps.audit.append(tx, reviewChain(wish.project), [
    {
      type: 'delivery.refused',
      subject: auditSubject(wish.actor, deps.self),
      body: {
        delivery: id,
        cause: wish.cause,
        reason,
        ...(wish.agent === undefined ? {} : { agent: wish.agent }),
      },
    },
  ]);
  return id;
}

async function insert(
  tx: Transaction,
  id: string,
  wish: Omit<StartWish, 'agent' | 'owner'> & { readonly agent?: string; readonly owner?: string },
  state: 'pending' | 'refused',
  reason: Refusal | null,
  message: string | null,
): Promise<void> {
  await tx.query(
    `INSERT INTO deliveries (id, project_id, cause, state, reason, message, agent, owner, actor_kind, acted_by, trigger_id,
       hook_id, external_id, object_id, comment_id, depth, terms, member_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    [
      id,
      wish.project,
      wish.cause,
      state,
      reason,
      message,
      wish.agent ?? null,
      wish.owner ?? null,
      wish.actor.kind,
      wish.actor.id,
      wish.trigger ?? null,
      wish.hook ?? null,
      wish.externalId ?? null,
      wish.object ?? null,
      wish.comment ?? null,
      wish.actor.depth ?? 0,
      state === 'pending' ? JSON.stringify(wish.terms ?? {}) : null,
      wish.actor.kind === 'external' ? wish.actor.member : null,
    ],
  );
}
