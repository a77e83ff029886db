import type { Refusal } from '@lemniscate/shared/api/delivery.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import { putIntoInbox } from '../inbox/inbox.ts';
import type { Transaction } from '../ports/transaction.ts';
import { refuse, wishForSession } from '../triggers/delivery.ts';
import type { DeliveryDeps, StartWish } from '../triggers/delivery.ts';
import { mentionsIn } from '../triggers/mentions.ts';
import type { Actor } from './actor.ts';
import type { CommentRow, ObjectRow } from './object-row.ts';

/** Why somebody may start nothing. */
export interface Barred {
  readonly reason: Refusal;
  readonly message: string;
}

interface Told {
  readonly object: ObjectRow;
  readonly actor: Actor;
  /** Whose rights a session would have. */
  readonly owner: string;
  /** Why the actor may start nothing; absent: they may. */
  readonly barred?: Barred | null;
  readonly hook?: string;
  readonly externalId?: string;
}

/** Asks for the session, or writes down why it is not asked for. */
async function ask(
  deps: DeliveryDeps,
  tx: Transaction,
  told: Told,
  wish: Pick<StartWish, 'cause' | 'agent' | 'comment'>,
): Promise<void> {
  const { object, actor, owner, barred, hook, externalId } = told;
  const whole = {
    ...wish,
    project: object.project_id,
    object: object.id,
    owner,
    actor,
    ...(hook === undefined ? {} : { hook }),
    ...(externalId === undefined ? {} : { externalId }),
  };
  if (barred === null || barred === undefined) await wishForSession(deps, tx, whole);
  else await refuse(deps, tx, whole, barred.reason, barred.message);
}

/** Asks the agent for a session about the object that it was given; a person finds it in their inbox. */
export async function tellAssignee(deps: DeliveryDeps, tx: Transaction, told: Told): Promise<void> {
  const { object, actor } = told;
  const { assigned_to: assignee } = object;
  if (assignee === null) return;
  if (object.assignee_kind === 'agent') return ask(deps, tx, told, { cause: 'assignment', agent: assignee });
  if (actor.kind === 'person' && actor.id === assignee) return;
  await putIntoInbox(deps, tx, [assignee], {
    project: object.project_id,
    object: object.id,
    kind: 'assignment',
    title: `${actor.id} assigned to you: ${object.title}`,
    about: `assignment:${object.id}:${object.version}`,
  });
}

/** What was said, and where. */
export interface Said extends Told {
  readonly text: string;
  /** Null: it is the object's own text. */
  readonly comment: CommentRow | null;
  /** Whom it asks if it names no agent. */
  readonly otherwise?: string | undefined;
}

/**
 * Tells those whom something concerns that was said, in the transaction that writes it: agents that it mentions or answers
 * are asked for a session, people that it mentions find it in their inbox at once, and so does whoever asked an agent.
 */
export async function tellMentioned(deps: DeliveryDeps, tx: Transaction, said: Said): Promise<void> {
  const { object, comment, actor } = said;
  const names = mentionsIn(said.text);
  const answered = comment === null ? null : await authorOfAnswered(tx, comment);
  const named = await findAgents(tx, object.project_id, names);
  const agents =
    named.length > 0 || answered !== null || said.otherwise === undefined ? named : [said.otherwise];
  const where = comment === null ? {} : { comment: comment.id };
  if (answered !== null && !agents.includes(answered))
    await ask(deps, tx, said, { ...where, cause: 'reply', agent: answered });
  for (const agent of agents) await ask(deps, tx, said, { ...where, cause: 'mention', agent });
  const about = {
    ...where,
    project: object.project_id,
    object: object.id,
    kind: 'mention' as const,
    about: `mention:${comment?.id ?? object.id}`,
  };
  const others = (await findPeople(tx, names)).filter((subject) => subject !== actor.member);
  await putIntoInbox(deps, tx, others, { ...about, title: `${actor.id} mentioned you: ${object.title}` });
  if (agents.length > 0 && actor.kind !== 'agent' && actor.member !== null)
    await putIntoInbox(deps, tx, [actor.member], {
      ...about,
      title: `You asked ${agents.join(', ')}: ${object.title}`,
    });
}

/** The agent whose comment this one answers; null where it answers a person or nobody. */
async function authorOfAnswered(tx: Transaction, comment: CommentRow): Promise<string | null> {
  if (comment.reply_to === null) return null;
  const [row] = await tx.query<{ created_by: string }>(
    `SELECT created_by FROM object_comments WHERE id = $1 AND object_id = $2 AND actor_kind = 'agent'`,
    [comment.reply_to, comment.object_id],
  );
  return row?.created_by ?? null;
}

/** Those of the names that are agents which work in the project. */
async function findAgents(tx: Transaction, project: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM agents WHERE id = ANY($1) AND project_id IN ('${everyProject}', $2) ORDER BY id`,
    [names, project],
  );
  return rows.map(({ id }) => id);
}

/** Those of the names that are people whom the directory has told of, by subject or address. */
async function findPeople(tx: Transaction, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await tx.query<{ subject: string }>(
    'SELECT subject FROM people WHERE lower(subject) = ANY($1) OR lower(email) = ANY($1) ORDER BY subject',
    [names],
  );
  return rows.map(({ subject }) => subject);
}
