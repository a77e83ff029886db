import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { Hold } from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { unknownProject } from '../projects/project.ts';
import { lockSession } from '../sessions/session-row.ts';

export interface HoldDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
}

/** Makes placing a hold and removing what it covers take turns; held to the end of the transaction. */
export async function takeHoldTurn(tx: Transaction, as: 'placing' | 'removing'): Promise<void> {
  const lock = as === 'removing' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  await tx.query(`SELECT ${lock}(hashtext('lemniscate-legal-holds'))`);
}

/** SQL: whether a hold stands over the session `s`, over one that it is a sub-agent of, or over its project. */
export const isHeld = `EXISTS (SELECT FROM legal_holds h WHERE h.released_at IS NULL
  AND ((h.scope = 'session' AND (h.of_id = s.id OR h.of_id = ANY (s.ancestors)))
    OR (h.scope = 'project' AND h.of_id = s.project_id)))`;

/**
 * SQL: whether a hold stands over the comment `c`: over the project of its object, over the session that wrote it, or over
 * one that is about the object.
 */
export const isCommentHeld = `EXISTS (SELECT FROM objects o WHERE o.id = c.object_id
  AND (EXISTS (SELECT FROM legal_holds h WHERE h.released_at IS NULL AND h.scope = 'project' AND h.of_id = o.project_id)
    OR EXISTS (SELECT FROM sessions s WHERE (s.id = c.session_id OR s.object_id = o.id) AND ${isHeld})))`;

/** Places a legal hold. @throws CodedError `session_unknown`, `project_unknown` */
export async function placeHold(
  { database, audit, newId }: HoldDeps,
  person: Person,
  over: Pick<Hold, 'scope' | 'of'>,
): Promise<string> {
  const id = newId('hold');
  await database.transaction(async (tx) => {
    await takeHoldTurn(tx, 'placing');
    const chain = await chainOf(tx, over);
    await tx.query('INSERT INTO legal_holds (id, scope, of_id, placed_by) VALUES ($1, $2, $3, $4)', [
      id,
      over.scope,
      over.of,
      person.subject,
    ]);
    await audit.append(tx, chain, [
      { type: 'hold.placed', subject: person.subject, body: { hold: id, ...over } },
    ]);
  });
  return id;
}

/** @throws CodedError `not_found` */
export async function releaseHold(
  { database, audit }: Pick<HoldDeps, 'database' | 'audit'>,
  person: Person,
  id: string,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [row] = await tx.query<{ scope: Hold['scope']; of: string }>(
      `UPDATE legal_holds SET released_by = $2, released_at = now() WHERE id = $1 AND released_at IS NULL
       RETURNING scope, of_id AS of`,
      [id, person.subject],
    );
    if (row === undefined) throw new CodedError('not_found', `There is no standing legal hold ${id}.`);
    await audit.append(tx, await chainOf(tx, row), [
      { type: 'hold.released', subject: person.subject, body: { hold: id, scope: row.scope, of: row.of } },
    ]);
  });
}

export function listHolds(database: Transaction): Promise<Hold[]> {
  return database.query<Hold & Record<string, unknown>>(
    `SELECT id, scope, of_id AS of, placed_by AS "placedBy", placed_at AS "placedAt" FROM legal_holds
     WHERE released_at IS NULL ORDER BY placed_at DESC, id LIMIT 1000`,
  );
}

async function chainOf(tx: Transaction, { scope, of }: Pick<Hold, 'scope' | 'of'>): Promise<string> {
  if (scope === 'session') return reviewChain((await lockSession(tx, of)).project_id);
  const [project] = await tx.query('SELECT FROM projects WHERE id = $1', [of]);
  if (project === undefined) throw await unknownProject(tx, of);
  return reviewChain(of);
}
