import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { isHeld, takeHoldTurn } from '../retention/holds.ts';

/**
 * Destroys the key of everything that a project has retained. Entries, digests and proofs stand; what they speak of can
 * be opened by nobody. Behind it the project retains nothing any more.
 * @returns how many sessions' content it was
 * @throws CodedError `not_found`; `conflict` while a legal hold stands over any of them
 */
export async function shredProject(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  person: Person,
  project: string,
): Promise<number> {
  return database.transaction(async (tx) => {
    await takeHoldTurn(tx, 'removing');
    const [held] = await tx.query(
      `SELECT s.id FROM sessions s JOIN retained_content c ON c.session_id = s.id
       WHERE s.project_id = $1 AND ${isHeld} LIMIT 1`,
      [project],
    );
    if (held !== undefined)
      throw new CodedError('conflict', `A legal hold stands over content of project "${project}".`, {
        project,
      });
    const [key] = await tx.query(
      `UPDATE content_keys SET wrapped = NULL, shredded_at = now()
       WHERE scope = 'project' AND of_id = $1 AND wrapped IS NOT NULL RETURNING of_id`,
      [project],
    );
    if (key === undefined)
      throw new CodedError('not_found', `Project "${project}" has no key of retained content.`, { project });
    await tx.query(
      `UPDATE content_keys SET wrapped = NULL, shredded_at = now()
       WHERE scope = 'session' AND project_id = $1 AND wrapped IS NOT NULL`,
      [project],
    );
    const sessions = await forgetParts(tx, 'project_id = $1', project);
    await audit.append(tx, reviewChain(project), [
      {
        type: 'content.shredded',
        subject: person.subject,
        body: { scope: 'project', of: project, sessions },
      },
    ]);
    return sessions;
  });
}

/** Destroys the key of one session's content, as part of an erasure or at its end. @returns whether there was one */
export async function shredSession(tx: Transaction, session: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE content_keys SET wrapped = NULL, shredded_at = now()
     WHERE scope = 'session' AND of_id = $1 AND wrapped IS NOT NULL RETURNING of_id`,
    [session],
  );
  await forgetParts(tx, 'session_id = $1', session);
  return rows.length > 0;
}

async function forgetParts(tx: Transaction, where: string, value: string): Promise<number> {
  const rows = await tx.query<{ session_id: string }>(
    `WITH gone AS (DELETE FROM retained_content WHERE ${where} RETURNING session_id, object_key),
       queued AS (INSERT INTO object_removals (key) SELECT object_key FROM gone ON CONFLICT DO NOTHING)
     SELECT DISTINCT session_id FROM gone`,
    [value],
  );
  return rows.length;
}
