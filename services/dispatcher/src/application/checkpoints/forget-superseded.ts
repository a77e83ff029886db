import { objectKey } from '../ports/object-store.ts';
import type { Database } from '../ports/transaction.ts';
import { isHeld } from '../retention/holds.ts';
import type { Signals } from '../signals.ts';

/** Checkpoints of one pass; the next takes the rest. */
const atOnce = 200;
/** A server may have been told the addresses of one that was in force until a moment ago. */
const settled = `interval '1 hour'`;

interface SupersededRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly project_id: string;
  readonly objects: readonly string[];
}

/**
 * Forgets checkpoints behind which a later one of the same session has been in force for a while: nothing resumes from
 * them. Their objects, hundreds of megabytes for a session of an hour, go behind the commit. What a legal hold stands over
 * stays.
 * @returns how many
 */
export async function forgetSuperseded({
  database,
  signals,
}: {
  readonly database: Database;
  readonly signals: Signals;
}): Promise<number> {
  const forgotten = await database.transaction(async (tx) => {
    const rows = await tx.query<SupersededRow>(
      `DELETE FROM checkpoints c USING sessions s WHERE s.id = c.session_id AND (c.session_id, c.number) IN (
         SELECT old.session_id, old.number FROM checkpoints old JOIN checkpoints later
           ON later.session_id = old.session_id AND later.number = old.number + 1
         WHERE later.created_at < now() - ${settled} LIMIT ${atOnce})
         AND NOT ${isHeld}
       RETURNING c.session_id, s.project_id,
         array_remove(ARRAY[c.archive_sha256, c.transcript_sha256, c.diff_object_sha256], NULL) AS objects`,
    );
    for (const { session_id: session, project_id: project, objects } of rows) {
      await tx.query(
        `DELETE FROM uploads u WHERE project_id = $1 AND sha256 = ANY ($2)
           AND starts_with(owner, 'attempt:' || $3 || '/')
           AND NOT EXISTS (SELECT FROM checkpoints c WHERE c.session_id = $3
             AND u.sha256 IN (c.archive_sha256, c.transcript_sha256, c.diff_object_sha256))
           AND NOT EXISTS (SELECT FROM diffs d WHERE d.session_id = $3 AND d.object_sha256 = u.sha256)`,
        [project, objects, session],
      );
      await tx.query('INSERT INTO object_removals (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
        objects.map((sha256) => objectKey(project, sha256)),
      ]);
    }
    return rows.length;
  });
  if (forgotten > 0) signals.send('erased', undefined);
  return forgotten;
}
