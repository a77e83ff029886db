import { isMeantBundle } from './meant-bundle.ts';
import type { Log } from '../ports/log.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Database } from '../ports/transaction.ts';

/** Objects of one pass; the next takes the rest. */
const atOnce = 200;

/**
 * Removes objects whose last row is gone. An object is named by its content, so one that another row still means stays.
 * @returns how many were removed
 */
export async function removeObjects({
  database,
  objects,
  log,
}: {
  readonly database: Database;
  readonly objects: ObjectStore;
  readonly log: Log;
}): Promise<number> {
  const rows = await database.query<{ key: string; meant: boolean }>(
    `SELECT r.key,
       EXISTS (SELECT FROM session_events e WHERE e.segment_key = r.key)
       OR EXISTS (SELECT FROM retained_content c WHERE c.object_key = r.key)
       OR EXISTS (SELECT FROM diffs d WHERE d.object_sha256 = right(r.key, 64))
       OR EXISTS (SELECT FROM checkpoints p WHERE right(r.key, 64) IN (p.archive_sha256, p.transcript_sha256, p.diff_object_sha256))
       OR EXISTS (SELECT FROM session_files f WHERE f.sha256 = right(r.key, 64))
       OR EXISTS (SELECT FROM memories m WHERE m.files @> jsonb_build_array(jsonb_build_object('sha256', right(r.key, 64))))
       OR EXISTS (SELECT FROM memory_proposals w WHERE w.state = 'waiting'
         AND w.files @> jsonb_build_array(jsonb_build_object('sha256', right(r.key, 64))))
       OR EXISTS (SELECT FROM skills k WHERE k.files @> jsonb_build_array(jsonb_build_object('sha256', right(r.key, 64))))
       OR EXISTS (SELECT FROM environments v WHERE v.state = 'ready' AND v.archive_sha256 = right(r.key, 64))
       OR ${isMeantBundle('right(r.key, 64)')}
       OR EXISTS (SELECT FROM uploads u WHERE u.sha256 = right(r.key, 64)) AS meant
     FROM object_removals r ORDER BY r.since LIMIT ${atOnce}`,
  );
  let removed = 0;
  for (const { key, meant } of rows) {
    if (!meant) {
      await objects.remove(key);
      removed += 1;
    }
    await database.query('DELETE FROM object_removals WHERE key = $1', [key]);
  }
  if (removed > 0) log.info({ removed }, 'objects were removed');
  return removed;
}
