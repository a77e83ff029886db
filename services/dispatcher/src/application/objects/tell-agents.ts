import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import { putIntoInbox } from '../inbox/inbox.ts';
import type { Transaction } from '../ports/transaction.ts';
import { wishForSession } from '../triggers/delivery.ts';
import type { DeliveryDeps } from '../triggers/delivery.ts';
import { mentionsIn } from '../triggers/mentions.ts';
import type { Actor } from './actor.ts';
import type { CommentRow, ObjectRow } from './object-row.ts';

interface Told {
  readonly object: ObjectRow;
  readonly actor: Actor;
  /** Whose rights a session would have. */
  readonly owner: string;
  readonly hook?: string;
  readonly externalId?: string;
}

/** Asks the agent for a session about the object that it was given. */
export async function tellAssignee(deps: DeliveryDeps, tx: Transaction, told: Told): Promise<void> {
  const { object, actor, owner } = told;
  const { assigned_to: assignee } = object;
  if (assignee === null) return;
  const about = { project: object.project_id, object: object.id };
  if (object.assignee_kind === 'agent') {
    await wishForSession(deps, tx, {
      ...about,
      ...originOf(told),
      cause: 'assignment',
      agent: assignee,
      owner,
      actor,
    });
    return;
  }
  if (actor.kind === 'person' && actor.id === assignee) return;
  const title = `${actor.id} assigned to you: ${object.title}`;
  await putIntoInbox(deps, tx, [assignee], {
    ...about,
    kind: 'assignment',
    title,
    about: `assignment:${object.id}:${object.version}`,
  });
}

/**
 * Tells those whom a comment concerns, in the transaction that writes it: agents that it mentions or answers are asked
 * for a session, people that it mentions find it in their inbox at once, and so does whoever asked an agent.
 */
export async function tellMentioned(
  deps: DeliveryDeps,
  tx: Transaction,
  told: Told & { readonly comment: CommentRow },
): Promise<void> {
  const { object, comment, actor, owner } = told;
  const names = mentionsIn(comment.body);
  const answered = await authorOfAnswered(tx, comment);
  const agents = await findAgents(tx, object.project_id, names);
  const about = { project: object.project_id, object: object.id, comment: comment.id };
  const asked = agents.map((agent) => ({ agent, cause: 'mention' as const }));
  if (answered !== null && !agents.includes(answered))
    await wishForSession(deps, tx, {
      ...about,
      ...originOf(told),
      cause: 'reply',
      agent: answered,
      owner,
      actor,
    });
  for (const { agent, cause } of asked)
    await wishForSession(deps, tx, { ...about, ...originOf(told), cause, agent, owner, actor });
  const people = await findPeople(tx, names);
  await putIntoInbox(
    deps,
    tx,
    people.filter((subject) => subject !== actor.member),
    {
      ...about,
      kind: 'mention',
      title: `${actor.id} mentioned you: ${object.title}`,
      about: `mention:${comment.id}`,
    },
  );
  if (asked.length > 0 && actor.kind !== 'agent' && actor.member !== null)
    await putIntoInbox(deps, tx, [actor.member], {
      ...about,
      kind: 'mention',
      title: `You asked ${agents.join(', ')}: ${object.title}`,
      about: `mention:${comment.id}`,
    });
}

const originOf = ({ hook, externalId }: Told) => ({
  ...(hook === undefined ? {} : { hook }),
  ...(externalId === undefined ? {} : { externalId }),
});

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
