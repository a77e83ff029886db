import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import { putIntoInbox } from '../inbox/inbox.ts';
import type { Actor } from '../objects/actor.ts';
import { insertComment } from '../objects/comments.ts';
import { attach } from '../objects/object-files.ts';
import { objectColumns } from '../objects/object-row.ts';
import type { ObjectRow } from '../objects/object-row.ts';
import { tellMentioned } from '../objects/tell-agents.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import type { DeliveryDeps } from './delivery.ts';

export interface AnswerDeps extends DeliveryDeps {
  readonly database: Database;
  readonly signals: Signals;
}

interface EndedRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly project_id: string;
  readonly agent: string;
  readonly cause: string;
  readonly object_id: string | null;
  readonly comment_id: string | null;
  readonly depth: number;
  readonly asked_by: string | null;
  readonly opened_by: string;
  readonly state: SessionState;
  readonly reason: EndReason | null;
  readonly message: string | null;
  readonly files_changed: number | null;
}

/** Most of one pass. */
const atOnce = 50;

/**
 * Brings the answer of every session that something has started to where it belongs: as a comment of its agent to the
 * object, with the files that it wrote, and into the inboxes of whoever asked and whose rights it had. Once each.
 * @returns how many were answered
 */
export async function answerSessions(deps: AnswerDeps): Promise<number> {
  const open = await deps.database.query<{ session_id: string }>(
    `SELECT o.session_id FROM session_origins o JOIN sessions s ON s.id = o.session_id
     WHERE o.answered_at IS NULL AND s.ended_at IS NOT NULL ORDER BY o.session_id LIMIT ${atOnce}`,
  );
  let answered = 0;
  for (const { session_id } of open)
    if (await deps.database.transaction((tx) => answer(deps, tx, session_id))) answered += 1;
  if (answered > 0) deps.signals.send('wishes', undefined);
  return answered;
}

async function answer(deps: AnswerDeps, tx: Transaction, session: string): Promise<boolean> {
  const [row] = await tx.query<EndedRow>(
    `SELECT o.session_id, o.project_id, o.agent, o.cause, o.object_id, o.comment_id, o.depth, o.asked_by, s.opened_by, s.state,
       s.reason, s.message, (SELECT jsonb_array_length(d.summary -> 'files') FROM diffs d
         WHERE d.session_id = s.id AND d.state = 'offered') AS files_changed
     FROM session_origins o JOIN sessions s ON s.id = o.session_id
     WHERE o.session_id = $1 AND o.answered_at IS NULL FOR UPDATE OF o`,
    [session],
  );
  if (row === undefined) return false;
  await tx.query('UPDATE session_origins SET answered_at = now() WHERE session_id = $1', [session]);
  const object = row.object_id === null ? null : await lockObject(tx, row.object_id);
  const comment = object === null ? null : await commentAsAgent(deps, tx, object, row);
  const succeeded = row.state === 'completed';
  const what = object === null ? row.cause : object.title;
  await putIntoInbox(
    deps,
    tx,
    [row.opened_by, row.asked_by].filter((subject) => subject !== null),
    {
      kind: succeeded ? 'result' : 'failure',
      project: row.project_id,
      title: succeeded
        ? `${row.agent} has answered: ${what}`
        : `${row.agent} has not finished (${row.reason}): ${what}`,
      about: `result:${session}`,
      object: row.object_id,
      comment,
      session,
    },
  );
  return true;
}

async function lockObject(tx: Transaction, id: string): Promise<ObjectRow | null> {
  const [row] = await tx.query<ObjectRow>(`SELECT ${objectColumns} FROM objects WHERE id = $1 FOR UPDATE`, [
    id,
  ]);
  return row ?? null;
}

/** The agent's comment, which may in turn ask others: one step further in the chain. @returns its id */
async function commentAsAgent(
  deps: AnswerDeps,
  tx: Transaction,
  object: ObjectRow,
  row: EndedRow,
): Promise<string> {
  const actor: Actor = {
    kind: 'agent',
    id: row.agent,
    session: row.session_id,
    depth: row.depth + 1,
    member: row.opened_by,
  };
  const files = await tx.query<{ path: string }>(
    'SELECT path FROM session_files WHERE session_id = $1 ORDER BY path LIMIT 500',
    [row.session_id],
  );
  const paths = files.map(({ path }) => path);
  if (paths.length > 0) await attach(deps, tx, object, actor, row.session_id, paths);
  const written = await insertComment(deps, tx, object, actor, {
    body: answerText({ ...row, session: row.session_id, files: paths }),
    replyTo: row.comment_id,
  });
  await tellMentioned(deps, tx, {
    object,
    comment: written,
    text: written.body,
    actor,
    owner: row.opened_by,
  });
  return written.id;
}

/** Longest answer; a comment takes no more. */
const answerLength = 32_000;

/** What people read: the agent's closing words, how it ended where it did not finish, and what there is to look at. */
export function answerText(ended: {
  readonly session: string;
  readonly reason: EndReason | null;
  readonly message: string | null;
  readonly files_changed: number | null;
  readonly files: readonly string[];
}): string {
  const { reason, session } = ended;
  const words = makeVisible((ended.message ?? '').slice(0, answerLength).toWellFormed());
  const finished = reason !== null && sessionEnds[reason].state === 'completed';
  return [
    ...(finished ? [] : [`Session ${session} has not finished: ${reason ?? 'unknown'}.`]),
    words === '' ? '(no closing words)' : words,
    ...(ended.files_changed === null || ended.files_changed === 0
      ? []
      : ['', `A diff of ${ended.files_changed} file(s) waits for review: lemniscate diff ${session}`]),
    ...(ended.files.length === 0
      ? []
      : ['', `Files: ${ended.files.slice(0, 20).map(makeVisible).join(', ')}`]),
  ].join('\n');
}
