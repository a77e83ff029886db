import type { Removed } from '@lemniscate/shared/api/retention.ts';
import type { Transaction } from '../ports/transaction.ts';
import { isHeld } from './holds.ts';
import { emptyNotices } from './stores.ts';

/** Objects of one pass; the next takes the rest. */
const atOnce = 100;

/** What stands where words were: a title cannot be empty. */
const erasedWords = '(erased)';

/** SQL: whether the object `o` still says anything. */
const speaks = `(o.title <> '${erasedWords}' OR o.body <> '' OR o.labels <> '{}'
  OR EXISTS (SELECT FROM object_comments c WHERE c.object_id = o.id AND c.body <> '${erasedWords}')
  OR EXISTS (SELECT FROM object_files f WHERE f.object_id = o.id))`;

/**
 * Empties the objects of a project to which nothing has happened for so many days: title, text, labels, comments, what was
 * changed, links to files, and what inboxes and targets were told. Their rows stay, for sessions and entries name them. One
 * that a session still works on, or over whose session a hold stands, stays as it is; the caller looks for a hold over the
 * project.
 * @param days of 24 hours
 */
export async function forgetOldObjects(tx: Transaction, project: string, days: number): Promise<Removed> {
  const due = await tx.query<{ id: string }>(
    `SELECT o.id FROM objects o WHERE o.project_id = $1 AND o.changed_at <= now() - make_interval(days => $2)
       AND NOT EXISTS (SELECT FROM object_history h
         WHERE h.object_id = o.id AND h.at > now() - make_interval(days => $2))
       AND NOT EXISTS (SELECT FROM sessions s WHERE s.object_id = o.id AND (s.ended_at IS NULL OR ${isHeld}))
       AND NOT EXISTS (SELECT FROM object_comments c JOIN sessions s ON s.id = c.session_id
         WHERE c.object_id = o.id AND ${isHeld})
       AND ${speaks}
     ORDER BY o.id LIMIT ${atOnce} FOR UPDATE SKIP LOCKED`,
    [project, days],
  );
  if (due.length === 0) return {};
  const ids = due.map(({ id }) => id);
  const run = (statement: string) => tx.query(`${statement} RETURNING 1`, [ids]);
  await run(
    `UPDATE objects SET title = '${erasedWords}', body = '', labels = '{}', version = version + 1 WHERE id = ANY ($1)`,
  );
  const comments = await run(
    `UPDATE object_comments SET body = '${erasedWords}' WHERE object_id = ANY ($1) AND body <> '${erasedWords}'`,
  );
  await run(`UPDATE object_history SET detail = '{}' WHERE object_id = ANY ($1)`);
  await run('DELETE FROM object_files WHERE object_id = ANY ($1)');
  await run(`UPDATE inbox_items SET title = '${erasedWords}' WHERE object_id = ANY ($1)`);
  await run('UPDATE deliveries SET message = NULL WHERE object_id = ANY ($1)');
  const notices = await emptyNotices(tx, `payload -> 'data' ->> 'object' = ANY ($1)`, ids);
  return { objects: ids.length, comments: comments.length, ...(notices === 0 ? {} : { notices }) };
}
