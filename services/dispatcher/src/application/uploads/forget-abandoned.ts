import { objectKey } from '../ports/object-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { isMeantBundle } from '../retention/meant-bundle.ts';
import { queueRemovals } from '../retention/queue-removals.ts';
import { incomingKey } from './upload-row.ts';
import type { UploadRow } from './upload-row.ts';

/** Uploads of one pass; the next takes the rest. */
const atOnce = 500;

/** SQL: whether a row means the bytes of the upload `u`, other than that they were sent. */
const isUsed = `(${isMeantBundle('u.sha256')}
  OR EXISTS (SELECT FROM skills k WHERE k.project_id = u.project_id
    AND k.files @> jsonb_build_array(jsonb_build_object('sha256', u.sha256)))
  OR EXISTS (SELECT FROM memories m WHERE m.project_id = u.project_id
    AND m.files @> jsonb_build_array(jsonb_build_object('sha256', u.sha256))))`;

/**
 * Forgets what somebody announced and never sent, or sent and never used, after a day: the address of a PUT is long
 * void, and nothing else would ever end such bytes. What an attempt has sent ends with its session.
 * @returns how many uploads
 */
export function forgetAbandoned(database: Database): Promise<number> {
  return database.transaction((tx) =>
    forget(
      tx,
      `u.created_at < now() - interval '1 day'
         AND (u.state <> 'stored' OR (starts_with(u.owner, 'person:') AND NOT ${isUsed})) LIMIT ${atOnce}`,
      [],
    ),
  );
}

/** Everything that an ended session's attempts have sent. @returns how many uploads */
export const forgetUploadsOf = (tx: Transaction, session: string): Promise<number> =>
  // "0" is the character behind "/"
  forget(
    tx,
    `u.owner COLLATE "C" >= 'attempt:' || $1 || '/' AND u.owner COLLATE "C" < 'attempt:' || $1 || '0'`,
    [session],
  );

/** What a person has sent and no row means, and what waits to be looked at: its address has their name. */
export const forgetUploadsBy = (tx: Transaction, owner: string): Promise<number> =>
  forget(tx, `u.owner = $1 AND (u.state <> 'stored' OR NOT ${isUsed})`, [owner]);

async function forget(tx: Transaction, which: string, values: readonly unknown[]): Promise<number> {
  const rows = await tx.query<
    Pick<UploadRow, 'id' | 'owner' | 'project_id' | 'sha256' | 'state'> & Record<string, unknown>
  >(
    `DELETE FROM uploads WHERE id IN (SELECT u.id FROM uploads u WHERE ${which})
     RETURNING id, owner, project_id, sha256, state`,
    [...values],
  );
  await queueRemovals(
    tx,
    rows.map((row) => (row.state === 'stored' ? objectKey(row.project_id, row.sha256) : incomingKey(row))),
  );
  return rows.length;
}
