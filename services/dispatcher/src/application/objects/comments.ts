import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { harmlessText } from '../events/harmless.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { DeliveryDeps } from '../triggers/delivery.ts';
import { auditActor, auditSubject, personActor } from './actor.ts';
import type { Actor } from './actor.ts';
import type { ObjectDeps } from './create-object.ts';
import { recordAct } from './history.ts';
import { commentColumns, findObject, pageOf, readCursorOf } from './object-row.ts';
import type { CommentRow, ObjectRow } from './object-row.ts';
import { tellTargets } from '../notify/tell-targets.ts';
import { tellTriggers } from '../triggers/take-event.ts';
import { tellMentioned } from './tell-agents.ts';

/** A comment before it is written. */
export interface NewComment {
  readonly body: string;
  readonly replyTo?: string | null;
  /** Its name in the system that it is a picture of. */
  readonly sourceKey?: string;
  readonly url?: string | null;
  /** Names the thread in that system; an answer belongs to the thread of what it answers. */
  readonly thread?: string | null;
}

/**
 * A person comments on an object; whom it mentions is told in the same transaction.
 * @throws CodedError `not_found`, `forbidden`
 */
export async function commentAsPerson(
  deps: ObjectDeps,
  person: Person,
  id: string,
  comment: NewComment,
): Promise<CommentRow> {
  const actor = personActor(person);
  const written = await deps.database.transaction(async (tx) => {
    const object = await findObject(tx, person, id, 'FOR UPDATE');
    requireRole(
      person,
      object.project_id,
      'comment on this object',
      'member',
      'approver',
      'project_admin',
      'administrator',
    );
    const added = await insertComment(deps, tx, object, actor, comment);
    await tellMentioned(deps, tx, {
      object,
      comment: added,
      text: added.body,
      actor,
      owner: person.subject,
    });
    return added;
  });
  deps.signals.send('wishes', undefined);
  return written;
}

/** Writes a comment with its history and its entry. @throws CodedError `not_found` for a comment that it cannot answer */
export async function insertComment(
  deps: DeliveryDeps,
  tx: Transaction,
  object: ObjectRow,
  actor: Actor,
  comment: NewComment,
): Promise<CommentRow> {
  const replyTo = comment.replyTo ?? null;
  if (replyTo !== null) await requireComment(tx, object.id, replyTo);
  const body = harmlessText(comment.body);
  const [row] = await tx.query<CommentRow>(
    `INSERT INTO object_comments (id, object_id, body, reply_to, actor_kind, created_by, member_by, session_id, source_key,
       url, thread)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
       coalesce($11, (SELECT thread FROM object_comments WHERE id = $4))) RETURNING ${commentColumns}`,
    [
      deps.newId('comment'),
      object.id,
      body,
      replyTo,
      actor.kind,
      actor.id,
      actor.kind === 'external' ? actor.member : null,
      actor.session ?? null,
      comment.sourceKey ?? null,
      comment.url ?? null,
      comment.thread ?? null,
    ],
  );
  if (row === undefined) throw new Error('a new comment was not returned');
  await recordAct(tx, object.id, actor, 'commented', { comment: row.id });
  await deps.audit.append(tx, reviewChain(object.project_id), [
    {
      type: 'object.commented',
      subject: auditSubject(actor, deps.self),
      body: {
        object: object.id,
        comment: row.id,
        commitment: deps.audit.commit('comment', body),
        ...auditActor(actor),
      },
    },
  ]);
  const about = { project: object.project_id, object: object.id, comment: row.id };
  // What accounts outside say is known outside.
  if (actor.kind !== 'external')
    await tellTargets(tx, {
      project: object.project_id,
      type: 'object.commented',
      about: `comment:${row.id}`,
      ...(actor.kind === 'agent' ? { carriedTo: object.source } : {}),
      data: {
        ...about,
        title: object.title,
        body,
        by: actor.id,
        byKind: actor.kind,
        replyTo,
        source: object.source,
        sourceKey: object.source_key,
        url: object.url,
        thread: row.thread,
      },
    });
  await tellTriggers(deps, tx, about, actor, 'commented', { type: object.type, status: object.status });
  return row;
}

async function requireComment(tx: Transaction, object: string, id: string): Promise<void> {
  const [row] = await tx.query('SELECT FROM object_comments WHERE id = $1 AND object_id = $2', [id, object]);
  if (row !== undefined) return;
  throw new CodedError('not_found', `Object ${object} has no comment ${id} that could be answered.`, {
    comment: id,
  });
}

/** A page of an object's comments, the oldest first. */
export async function listComments(
  tx: Transaction,
  object: string,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
): Promise<{ comments: CommentRow[]; nextCursor: string | null }> {
  const after = cursor === undefined ? null : readCursorOf(cursor, 'comment');
  const found = await tx.query<CommentRow>(
    `SELECT ${commentColumns} FROM object_comments WHERE object_id = $1 AND ($2::text IS NULL OR id > $2)
     ORDER BY id LIMIT $3`,
    [object, after, limit + 1],
  );
  const { rows, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return { comments: rows, nextCursor };
}

/** The newest comments of an object, in the order in which they were said. */
export async function newestComments(tx: Transaction, object: string, most: number): Promise<CommentRow[]> {
  const rows = await tx.query<CommentRow>(
    `SELECT ${commentColumns} FROM object_comments WHERE object_id = $1 ORDER BY id DESC LIMIT $2`,
    [object, most],
  );
  return rows.toReversed();
}
