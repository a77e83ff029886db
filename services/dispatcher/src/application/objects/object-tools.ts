import { idPattern } from '@lemniscate/shared/id.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { objectTools } from '@lemniscate/shared/tools/catalogue.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { LiveAttempt } from '../events/live-attempt.ts';
import type { Proposal } from '../permits/read-proposal.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { DeliveryDeps } from '../triggers/delivery.ts';
import { fenced } from '../triggers/session-context.ts';
import type { Actor } from './actor.ts';
import { applyChange } from './change-object.ts';
import { insertComment, newestComments } from './comments.ts';
import { objectColumns } from './object-row.ts';
import type { ObjectRow } from './object-row.ts';
import { tellMentioned } from './tell-agents.ts';

type ToolResult = NonNullable<Extract<PermitAnswer, { verdict: 'go' }>['result']>;

/** Whether a permitted call is carried out here, on the object that the session is about. */
export const isObjectTool = (tool: string): boolean => objectTools.some((name) => name === tool);

const failed = (text: string): ToolResult => ({ isError: true, text });

/**
 * Carries out a permitted call on the session's object, in the transaction of its permit: act and decision are on record
 * together, and a repeat of the call gets the stored result.
 */
export async function carryOutObjectTool(
  deps: DeliveryDeps,
  tx: Transaction,
  session: LiveAttempt,
  { tool, arguments: args }: Proposal,
): Promise<ToolResult> {
  const named = args['object'];
  const own = await ownObject(tx, session, tool === 'read_object' ? '' : 'FOR UPDATE');
  if (own === null) return failed('This session is about no object.');
  if (tool === 'read_object')
    return readObject(tx, typeof named === 'string' ? await otherObject(tx, session, named) : own);
  const actor = await agentOf(tx, session);
  if (tool === 'set_object_status') {
    const status = String(args['status']);
    const changed = await applyChange(deps, tx, own, actor, session.opened_by, { status });
    return { isError: false, text: `${changed.id} has status ${changed.status}.` };
  }
  return comment(deps, tx, own, actor, session.opened_by, String(args['text']), args['reply_to']);
}

async function comment(
  deps: DeliveryDeps,
  tx: Transaction,
  object: ObjectRow,
  actor: Actor,
  owner: string,
  body: string,
  replyTo: unknown,
): Promise<ToolResult> {
  if (replyTo !== undefined) {
    const [answered] = await tx.query('SELECT FROM object_comments WHERE id = $1 AND object_id = $2', [
      harmlessId(replyTo),
      object.id,
    ]);
    if (answered === undefined)
      return failed(`${object.id} has no comment of that id. read_object shows them.`);
  }
  const written = await insertComment(deps, tx, object, actor, {
    body,
    ...(typeof replyTo === 'string' ? { replyTo } : {}),
  });
  await tellMentioned(deps, tx, { object, comment: written, text: written.body, actor, owner });
  return { isError: false, text: `Comment ${written.id} is written.` };
}

const harmlessId = (id: unknown): string =>
  typeof id === 'string' && idPattern('comment').test(id) ? id : '';

async function ownObject(
  tx: Transaction,
  { id }: LiveAttempt,
  lock: '' | 'FOR UPDATE',
): Promise<ObjectRow | null> {
  const [row] = await tx.query<ObjectRow>(
    `SELECT ${objectColumns} FROM objects WHERE id = (SELECT object_id FROM sessions WHERE id = $1) ${lock}`,
    [id],
  );
  return row ?? null;
}

async function otherObject(tx: Transaction, session: LiveAttempt, id: string): Promise<ObjectRow | null> {
  if (!idPattern('object').test(id)) return null;
  const [row] = await tx.query<ObjectRow>(
    `SELECT ${objectColumns} FROM objects WHERE id = $1 AND project_id = $2`,
    [id, session.project_id],
  );
  return row ?? null;
}

/** The session's agent; what it asks of others is one step further in the chain than itself. */
async function agentOf(tx: Transaction, session: LiveAttempt): Promise<Actor> {
  const [origin] = await tx.query<{ depth: number }>(
    'SELECT depth FROM session_origins WHERE session_id = $1',
    [session.id],
  );
  return {
    kind: 'agent',
    id: session.agent,
    session: session.id,
    depth: (origin?.depth ?? 0) + 1,
    member: session.opened_by,
  };
}

/** Characters of a result; the newest comments come first when not all fit. */
const mostText = 60_000;

async function readObject(tx: Transaction, object: ObjectRow | null): Promise<ToolResult> {
  if (object === null) return failed('There is no such object in this project.');
  const comments = await newestComments(tx, object.id, 100);
  const text = [
    `${object.id}, ${object.type} "${makeVisible(object.title)}", status ${object.status}, version ${object.version}`,
    `assignee: ${object.assigned_to ?? 'nobody'}; labels: ${object.labels.join(', ') || 'none'}`,
    fenced(object.body.slice(0, 20_000).toWellFormed()),
    ...comments
      .toReversed()
      .map(
        ({ id, actor_kind: kind, created_by: by, created_at: at, body }) =>
          `${id}, ${kind} ${makeVisible(by)}, ${at}:\n${fenced(body.slice(0, 8_000).toWellFormed())}`,
      ),
  ].join('\n');
  return { isError: false, text: text.slice(0, mostText).toWellFormed() };
}
