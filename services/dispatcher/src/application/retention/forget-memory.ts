import type { MemoryFile } from '@lemniscate/shared/agents/merge-memory.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import type { Removed } from '@lemniscate/shared/api/retention.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { isHeld } from './holds.ts';
import { queueRemovals } from './queue-removals.ts';
import type { RemovableSession } from './stores.ts';

/** A file that was taken out of a memory, and where its bytes lie. */
interface TakenFile extends Record<string, unknown> {
  readonly project_id: string;
  readonly file: MemoryFile;
}

/**
 * What a session has left in its agent's memory, in every version and wherever it was carried, and what it wanted
 * remembered. What another session has written since under the same name is that session's.
 */
export async function removeMemory(tx: Transaction, session: RemovableSession): Promise<Removed> {
  const ofAgent = 'm.agent_id = (SELECT agent FROM sessions WHERE id = $1)';
  const taken = await takeFiles(tx, { rows: ofAgent, file: `f ->> 'session' = $1` }, [session.id]);
  const proposed = await tx.query<{ files: FolderFile[] }>(
    'DELETE FROM memory_proposals WHERE session_id = $1 RETURNING files',
    [session.id],
  );
  const ofProposals = proposed.flatMap(({ files }) => filesOf(session.project_id, session.id, files));
  await forgetBytes(tx, [...taken, ...ofProposals]);
  if (taken.length + proposed.length === 0) return {};
  return { memoryFiles: taken.length, memoryProposals: proposed.length };
}

/**
 * Files of a project's memories that nobody has written anew for so many days, and proposals as old; nothing of a session under a hold;
 * the caller looks for one over the project.
 * @param days of 24 hours
 */
export async function forgetOldMemory(tx: Transaction, project: string, days: number): Promise<Removed> {
  const old = `(f ->> 'at')::timestamptz <= now() - make_interval(days => $2)
    AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = f ->> 'session' AND ${isHeld})`;
  const taken = await takeFiles(tx, { rows: 'm.project_id = $1', file: old }, [project, days]);
  const proposed = await tx.query<{ session_id: string; files: FolderFile[] }>(
    `DELETE FROM memory_proposals p WHERE p.project_id = $1 AND p.created_at <= now() - make_interval(days => $2)
       AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = p.session_id AND ${isHeld})
     RETURNING session_id, files`,
    [project, days],
  );
  const ofProposals = proposed.flatMap(({ session_id, files }) => filesOf(project, session_id, files));
  await forgetBytes(tx, [...taken, ...ofProposals]);
  if (taken.length + proposed.length === 0) return {};
  return { memoryFiles: taken.length, memoryProposals: proposed.length };
}

const filesOf = (project: string, session: string, files: readonly FolderFile[]): TakenFile[] =>
  files.map((file) => ({ project_id: project, file: { ...file, session, at: '' } }));

/** Takes files out of the versions of memories, and out of what was to be carried. @returns each file once a place */
async function takeFiles(
  tx: Transaction,
  which: { readonly rows: string; readonly file: string },
  values: readonly unknown[],
): Promise<TakenFile[]> {
  const taken: TakenFile[] = [];
  for (const table of ['memories', 'memory_carries']) {
    // a row changes once: what goes is read from it as it was before
    const rows = await tx.query<TakenFile>(
      `WITH hit AS (SELECT m.ctid AS place, m.project_id, m.files FROM ${table} m WHERE ${which.rows}
           AND EXISTS (SELECT FROM jsonb_array_elements(m.files) AS f WHERE ${which.file}) FOR UPDATE),
         done AS (UPDATE ${table} m SET files = (SELECT coalesce(jsonb_agg(f ORDER BY n), '[]')
             FROM jsonb_array_elements(hit.files) WITH ORDINALITY AS e (f, n) WHERE (${which.file}) IS NOT TRUE)
           FROM hit WHERE m.ctid = hit.place)
       SELECT DISTINCT hit.project_id, f AS file FROM hit, jsonb_array_elements(hit.files) AS f WHERE ${which.file}`,
      [...values],
    );
    taken.push(...rows);
  }
  return taken;
}

/** Their bytes go when nothing means them any more; that they were sent is no reason to keep them. */
async function forgetBytes(tx: Transaction, taken: readonly TakenFile[]): Promise<void> {
  const projects = Map.groupBy(taken, ({ project_id }) => project_id);
  for (const [project, files] of projects) {
    const digests = [...new Set(files.map(({ file }) => file.sha256))];
    await tx.query(
      `DELETE FROM uploads u WHERE u.project_id = $1 AND u.sha256 = ANY ($2) AND u.state = 'stored'
         AND NOT EXISTS (SELECT FROM sessions s WHERE s.ended_at IS NULL AND starts_with(u.owner, 'attempt:' || s.id || '/'))
         AND NOT EXISTS (SELECT FROM skills k WHERE k.project_id = $1
           AND k.files @> jsonb_build_array(jsonb_build_object('sha256', u.sha256)))`,
      [project, digests],
    );
    await queueRemovals(
      tx,
      digests.map((sha256) => objectKey(project, sha256)),
    );
  }
}
