import { maxObjectText } from '@lemniscate/shared/api/object.ts';
import { cloudEventSchema } from '@lemniscate/shared/triggers/cloud-event.ts';
import type { FindPerson } from '../access/known-person.ts';
import type { Actor } from '../objects/actor.ts';
import { applyChange } from '../objects/change-object.ts';
import { insertComment } from '../objects/comments.ts';
import { insertObject } from '../objects/create-object.ts';
import { objectColumns } from '../objects/object-row.ts';
import type { CommentRow, ObjectRow } from '../objects/object-row.ts';
import { tellMentioned } from '../objects/tell-agents.ts';
import type { Transaction } from '../ports/transaction.ts';
import { actorOfAccount } from './account-links.ts';
import { refuse } from './delivery.ts';
import type { DeliveryDeps } from './delivery.ts';
import { definitionOfHook } from './hooks.ts';
import type { HookRow } from './hooks.ts';
import type { Happening, SeenComment, SeenObject } from './sources/webhook-source.ts';
import { setOffTriggers } from './take-event.ts';

/**
 * Draws what has happened elsewhere into the workspace, and tells whom it concerns: agents that a comment mentions or
 * answers, and the project's triggers. Only accounts that are linked to members start anything.
 */
export async function takeHappening(
  deps: DeliveryDeps & { readonly findPerson: FindPerson },
  tx: Transaction,
  hook: HookRow,
  happening: Happening,
  externalId: string | null,
): Promise<void> {
  const { actor, barred } = await actorOfAccount(deps, tx, hook.project_id, hook.source, happening.account);
  const object = happening.object === null ? null : await drawObject(deps, tx, hook, actor, happening.object);
  const origin = { hook: hook.id, ...(externalId === null ? {} : { externalId }) };
  let comment: CommentRow | null = null;
  if (object !== null && happening.comment !== null) {
    const drawn = await drawComment(deps, tx, object, actor, happening.comment);
    if (drawn === 'own') {
      const wish = {
        ...origin,
        project: hook.project_id,
        cause: 'mention' as const,
        actor,
        object: object.id,
      };
      await refuse(
        deps,
        tx,
        wish,
        'own_comment',
        'It is the comment of an agent of this fleet, carried there.',
      );
      return;
    }
    if (drawn === 'known') return;
    comment = drawn;
  }
  const definition = definitionOfHook(hook);
  const text = comment?.body ?? (happening.opened ? (object?.body ?? '') : '');
  if (object !== null && definition.mentions && text !== '')
    await tellMentioned(deps, tx, {
      ...origin,
      object,
      actor,
      owner: hook.owner,
      barred,
      text,
      comment,
      otherwise: happening.comment?.addressed === true ? definition.agent : undefined,
    });
  await setOffTriggers(deps, tx, {
    ...origin,
    project: hook.project_id,
    cause: happening.cause,
    event: eventOf(deps, hook, happening, object),
    actor,
    barred,
    ...(object === null ? {} : { object: object.id }),
    ...(comment === null ? {} : { comment: comment.id }),
  });
}

function eventOf(deps: DeliveryDeps, hook: HookRow, happening: Happening, object: ObjectRow | null) {
  return cloudEventSchema.parse({
    specversion: '1.0',
    id: deps.newId('delivery'),
    source: `/v1/hooks/${hook.id}`,
    type: happening.type,
    ...(object === null ? {} : { subject: object.id }),
    datacontenttype: 'application/json',
    data: {
      ...happening.data,
      account: happening.account,
      ...(object === null
        ? {}
        : {
            object: {
              type: object.type,
              title: object.title,
              status: object.status,
              labels: object.labels,
              key: object.source_key,
            },
          }),
    },
  });
}

/** What we write under the comments that we carry ourselves. */
const carriedMark = /<!-- lemniscate:(cmt_\w{1,60}) -->\s*$/;

const cutText = (text: string): string => text.slice(0, maxObjectText).toWellFormed();

/** The picture of the thing, made or brought up to date. Pictures of one thing are drawn one after the other. */
async function drawObject(
  deps: DeliveryDeps,
  tx: Transaction,
  hook: HookRow,
  actor: Actor,
  seen: SeenObject,
): Promise<ObjectRow> {
  const key = seen.key.slice(0, 500);
  const place = [hook.project_id, hook.source, key];
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('object:' || $1, 0))`, [place.join(' ')]);
  const [known] = await tx.query<ObjectRow>(
    `SELECT ${objectColumns} FROM objects WHERE project_id = $1 AND source = $2 AND source_key = $3 FOR UPDATE`,
    place,
  );
  const repository = definitionOfHook(hook).repository ?? seen.repository ?? undefined;
  const now = {
    title: seen.title === '' ? '(no title)' : seen.title,
    body: cutText(seen.body),
    status: seen.status,
    labels: seen.labels.filter((label) => label !== '').slice(0, 50),
  };
  if (known === undefined)
    return insertObject(
      deps,
      tx,
      actor,
      {
        ...now,
        project: hook.project_id,
        type: seen.type,
        assignee: null,
        ...(repository === undefined ? {} : { repository }),
      },
      { source: hook.source, sourceKey: key, url: seen.url },
    );
  // A thread's first words stay its title.
  if (seen.type === 'thread') return known;
  return applyChange(deps, tx, known, actor, hook.owner, now);
}

/**
 * What was said there. `known`: it was drawn before; `own`: an agent has said the very same here, and somebody has carried
 * it over.
 */
async function drawComment(
  deps: DeliveryDeps,
  tx: Transaction,
  object: ObjectRow,
  actor: Actor,
  seen: SeenComment,
): Promise<CommentRow | 'known' | 'own'> {
  const body = cutText(seen.body);
  const [before] = await tx.query<{ own: boolean }>(
    `SELECT source_key IS DISTINCT FROM $2 AS own FROM object_comments
     WHERE object_id = $1 AND (source_key = $2 OR (actor_kind = 'agent' AND (body = $3 OR id = $4)))
     ORDER BY own LIMIT 1`,
    [object.id, seen.key, body, carriedMark.exec(body)?.[1] ?? ''],
  );
  if (before !== undefined) return before.own ? 'own' : 'known';
  const [answered] =
    seen.thread === null
      ? []
      : await tx.query<{ id: string }>(
          `SELECT id FROM object_comments WHERE object_id = $1 AND thread = $2 AND actor_kind = 'agent'
           ORDER BY id DESC LIMIT 1`,
          [object.id, seen.thread],
        );
  return insertComment(deps, tx, object, actor, {
    body,
    sourceKey: seen.key,
    url: seen.url,
    thread: seen.thread,
    replyTo: answered?.id ?? null,
  });
}
