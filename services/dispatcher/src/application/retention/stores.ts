import type { Removed } from '@lemniscate/shared/api/retention.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { shredSession } from '../content/shred.ts';
import { forgetUploadsOf } from '../uploads/forget-abandoned.ts';
import { removeMemory } from './forget-memory.ts';
import { isMeantBundle } from './meant-bundle.ts';
import { queueRemovals } from './queue-removals.ts';

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
  files: removeFiles,
  memory: removeMemory,
  notices: removeNotices,
  words: removeWords,
  uploads: removeUploads,
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

/** The offered diff, and what checkpoints hold of the same change. */
async function removeDiff(tx: Transaction, { id, project_id }: RemovableSession): Promise<Removed> {
  const offered = await tx.query<{ object_sha256: string | null }>(
    `WITH before AS (SELECT object_sha256 FROM diffs WHERE session_id = $1)
     UPDATE diffs SET patch = NULL, object_sha256 = NULL, accepted_files = NULL,
       summary = summary || '{"files":[]}', state = CASE state WHEN 'offered' THEN 'discarded' ELSE state END
     WHERE session_id = $1 AND (patch IS NOT NULL OR object_sha256 IS NOT NULL OR summary -> 'files' <> '[]')
     RETURNING (SELECT object_sha256 FROM before) AS object_sha256`,
    [id],
  );
  const kept = await tx.query<{ object_sha256: string | null }>(
    `WITH before AS (SELECT number, diff_object_sha256 FROM checkpoints WHERE session_id = $1)
     UPDATE checkpoints c SET diff_summary = NULL, diff_patch = NULL, diff_object_sha256 = NULL FROM before
     WHERE c.session_id = $1 AND c.number = before.number AND ${hasDiff}
     RETURNING before.diff_object_sha256 AS object_sha256`,
    [id],
  );
  if (offered.length > 0) await tx.query('UPDATE diff_votes SET files = NULL WHERE session_id = $1', [id]);
  const objects = [...offered, ...kept].flatMap(({ object_sha256 }) => object_sha256 ?? []);
  await removeUploaded(tx, { id, project_id }, objects);
  return {
    ...(offered.length > 0 ? { diffs: offered.length } : {}),
    ...(kept.length > 0 ? { checkpointDiffs: kept.length } : {}),
  };
}

/** SQL: whether the checkpoint `c` holds a diff. */
export const hasDiff = `(c.diff_summary IS NOT NULL OR c.diff_patch IS NOT NULL OR c.diff_object_sha256 IS NOT NULL)`;

/** What a session resumes from: archives of its workspace and home, and its transcript. */
async function removeSnapshots(tx: Transaction, session: RemovableSession): Promise<Removed> {
  const rows = await tx.query<{ objects: string[] }>(
    `DELETE FROM checkpoints WHERE session_id = $1
     RETURNING array_remove(ARRAY[transcript_sha256, archive_sha256, diff_object_sha256], NULL) AS objects`,
    [session.id],
  );
  await removeUploaded(
    tx,
    session,
    rows.flatMap(({ objects }) => objects),
  );
  return { snapshots: rows.length };
}

async function removeContent(tx: Transaction, { id }: RemovableSession): Promise<Removed> {
  return (await shredSession(tx, id)) ? { retainedContent: 1 } : {};
}

/** What the agent wrote for people, and the links to it: a path can say as much as a file. */
async function removeFiles(tx: Transaction, session: RemovableSession): Promise<Removed> {
  const links = await tx.query<{ object_id: string }>(
    'DELETE FROM object_files WHERE session_id = $1 RETURNING object_id',
    [session.id],
  );
  await tx.query(
    `UPDATE object_history SET detail = detail || '{"files":[]}'
     WHERE object_id = ANY ($2) AND act = 'attached' AND detail ->> 'session' = $1`,
    [session.id, [...new Set(links.map(({ object_id }) => object_id))]],
  );
  const files = await tx.query<{ sha256: string }>(
    'DELETE FROM session_files WHERE session_id = $1 RETURNING sha256',
    [session.id],
  );
  if (files.length === 0) return {};
  await removeUploaded(
    tx,
    session,
    files.map(({ sha256 }) => sha256),
  );
  return { files: files.length };
}

/** What targets were told of the session and of its comments. */
async function removeNotices(tx: Transaction, { id }: RemovableSession): Promise<Removed> {
  const notices = await emptyNotices(
    tx,
    `payload -> 'data' ->> 'session' = $1
     OR payload -> 'data' ->> 'comment' IN (SELECT c.id FROM object_comments c WHERE c.session_id = $1)`,
    id,
  );
  return notices === 0 ? {} : { notices };
}

/**
 * Empties messages: their rows stay, for they say that something was delivered. One that still waits is not sent, and
 * nobody can have it sent again.
 * @returns how many
 */
export async function emptyNotices(
  tx: Transaction,
  which: string,
  value: string | readonly string[],
): Promise<number> {
  const rows = await tx.query(
    `UPDATE notices SET payload = payload || '{"data":{}}', state = CASE state WHEN 'pending' THEN 'failed' ELSE state END
     WHERE (${which}) AND payload -> 'data' <> '{}' RETURNING 1`,
    [value],
  );
  return rows.length;
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
  await tx.query('UPDATE deliveries SET message = NULL WHERE session_id = $1', [id]);
  // a build is a session: why it failed quotes what it printed
  await tx.query(`UPDATE environments SET message = '' WHERE session_id = $1 AND message <> ''`, [id]);
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

/** What attempts sent and no result took: a server that was lost had sent it before. */
async function removeUploads(tx: Transaction, { id }: RemovableSession): Promise<Removed> {
  const uploads = await forgetUploadsOf(tx, id);
  return uploads === 0 ? {} : { uploads };
}

/** A repository that was sent for this session, unless something else works from the same. */
async function removeBundle(tx: Transaction, project: string, sha256: string): Promise<number> {
  const rows = await tx.query(
    `DELETE FROM uploads WHERE project_id = $1 AND sha256 = $2 AND NOT ${isMeantBundle('$2')} RETURNING 1`,
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

/** Adds counts of two removals. */
export function addRemoved(one: Removed, other: Removed): Removed {
  const sum = { ...one };
  for (const [store, count] of Object.entries(other)) sum[store] = (sum[store] ?? 0) + count;
  return sum;
}
