import type { Removed } from '@lemniscate/shared/api/retention.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { shredSession } from '../content/shred.ts';

/** A session as far as its removal asks for it. */
export interface RemovableSession {
  readonly id: string;
  readonly project_id: string;
}

/**
 * The stores that hold a session's content, and how each forgets it: `docs/operations/audit-log.md` has the same table for
 * people. Rows go here, objects are queued and go behind the commit.
 */
export const stores = {
  logs: removeLogs,
  diffs: removeDiff,
  snapshots: removeSnapshots,
  content: removeContent,
  words: removeWords,
} as const satisfies Readonly<
  Record<string, (tx: Transaction, session: RemovableSession) => Promise<Removed>>
>;

async function removeLogs(tx: Transaction, { id }: RemovableSession): Promise<Removed> {
  const rows = await tx.query<{ segment_key: string | null }>(
    'DELETE FROM session_events WHERE session_id = $1 RETURNING segment_key',
    [id],
  );
  const keys = rows.flatMap(({ segment_key }) => segment_key ?? []);
  await queueRemovals(tx, keys);
  return { events: rows.length, segments: new Set(keys).size };
}

async function removeDiff(tx: Transaction, { id, project_id }: RemovableSession): Promise<Removed> {
  const [diff] = await tx.query<{ object_sha256: string | null }>(
    `WITH before AS (SELECT object_sha256 FROM diffs WHERE session_id = $1)
     UPDATE diffs SET patch = NULL, object_sha256 = NULL, accepted_files = NULL,
       summary = summary || '{"files":[]}', state = CASE state WHEN 'offered' THEN 'discarded' ELSE state END
     WHERE session_id = $1 AND (patch IS NOT NULL OR object_sha256 IS NOT NULL OR summary -> 'files' <> '[]')
     RETURNING (SELECT object_sha256 FROM before) AS object_sha256`,
    [id],
  );
  if (diff === undefined) return {};
  await tx.query('UPDATE diff_votes SET files = NULL WHERE session_id = $1', [id]);
  if (diff.object_sha256 !== null) await removeUploaded(tx, { id, project_id }, [diff.object_sha256]);
  return { diffs: 1 };
}

/** What a session resumes from: archives of its workspace and home, and its transcript. */
async function removeSnapshots(tx: Transaction, session: RemovableSession): Promise<Removed> {
  const rows = await tx.query<{ transcript_sha256: string; archive_sha256: string }>(
    'DELETE FROM checkpoints WHERE session_id = $1 RETURNING transcript_sha256, archive_sha256',
    [session.id],
  );
  const objects = rows.flatMap(({ transcript_sha256, archive_sha256 }) => [
    transcript_sha256,
    archive_sha256,
  ]);
  await removeUploaded(tx, session, objects);
  return { snapshots: rows.length };
}

async function removeContent(tx: Transaction, { id }: RemovableSession): Promise<Removed> {
  return (await shredSession(tx, id)) ? { retainedContent: 1 } : {};
}

/** What people said, what was asked of them, and where the code came from. */
async function removeWords(tx: Transaction, { id, project_id }: RemovableSession): Promise<Removed> {
  const [session] = await tx.query<{ bundle: string | null }>(
    `WITH before AS (SELECT repository ->> 'sha256' AS bundle FROM sessions WHERE id = $1)
     UPDATE sessions SET instruction = '', message = NULL, repository = '{"kind":"path","path":"(erased)"}'
     WHERE id = $1 RETURNING (SELECT bundle FROM before) AS bundle`,
    [id],
  );
  const removed: Removed = { instruction: 1 };
  const messages = await tx.query(
    `UPDATE session_messages SET text = '' WHERE session_id = $1 AND text <> '' RETURNING 1`,
    [id],
  );
  const approvals = await tx.query(
    `UPDATE approvals SET title = '', arguments = '{}', reasons = '[]', message = NULL, pattern = ''
     WHERE session_id = $1 RETURNING 1`,
    [id],
  );
  const grants = await tx.query('DELETE FROM session_grants WHERE session_id = $1 RETURNING 1', [id]);
  await tx.query('UPDATE tool_calls SET path = NULL, answer = NULL WHERE session_id = $1', [id]);
  await tx.query(`UPDATE idempotency_keys SET request_hash = '' WHERE session_id = $1`, [id]);
  await tx.query(`UPDATE object_comments SET body = '(erased)' WHERE session_id = $1`, [id]);
  await tx.query(`UPDATE inbox_items SET title = '(erased)' WHERE session_id = $1`, [id]);
  const bundle = session?.bundle ?? null;
  const uploads = bundle === null ? 0 : await removeBundle(tx, project_id, bundle);
  return {
    ...removed,
    messages: messages.length,
    approvals: approvals.length,
    grants: grants.length,
    uploads,
  };
}

/** A repository that was sent for this session, unless another session works from the same. */
async function removeBundle(tx: Transaction, project: string, sha256: string): Promise<number> {
  const rows = await tx.query(
    `DELETE FROM uploads WHERE project_id = $1 AND sha256 = $2 AND NOT EXISTS (
       SELECT FROM sessions WHERE project_id = $1 AND repository ->> 'sha256' = $2) RETURNING 1`,
    [project, sha256],
  );
  if (rows.length > 0) await queueRemovals(tx, [objectKey(project, sha256)]);
  return rows.length;
}

/** Objects that the session's attempts have sent. */
async function removeUploaded(
  tx: Transaction,
  { id, project_id }: RemovableSession,
  sha256s: readonly string[],
): Promise<void> {
  if (sha256s.length === 0) return;
  await tx.query(
    `DELETE FROM uploads WHERE project_id = $1 AND sha256 = ANY ($2) AND starts_with(owner, 'attempt:' || $3 || '/')`,
    [project_id, sha256s, id],
  );
  await queueRemovals(
    tx,
    sha256s.map((sha256) => objectKey(project_id, sha256)),
  );
}

async function queueRemovals(tx: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.query('INSERT INTO object_removals (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
    [...new Set(keys)],
  ]);
}

/** Adds counts of two removals. */
export function addRemoved(one: Removed, other: Removed): Removed {
  const sum = { ...one };
  for (const [store, count] of Object.entries(other)) sum[store] = (sum[store] ?? 0) + count;
  return sum;
}
