import { projectsSeenBy } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { objectColumns, pageOf, readCursorOf } from './object-row.ts';
import type { ObjectRow } from './object-row.ts';

export interface ObjectQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly project?: string | undefined;
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  /** An agent's id or a person's subject. */
  readonly assignee?: string | undefined;
}

/** A page of the objects that the person may see, the newest first. */
export async function listObjects(
  tx: Transaction,
  person: Person,
  query: ObjectQuery,
): Promise<{ objects: ObjectRow[]; nextCursor: string | null }> {
  const before = query.cursor === undefined ? null : readCursorOf(query.cursor, 'object');
  const found = await tx.query<ObjectRow>(
    `SELECT ${objectColumns} FROM objects
     WHERE ($1::text[] IS NULL OR project_id = ANY($1)) AND ($2::text IS NULL OR id < $2)
       AND ($3::text IS NULL OR project_id = $3) AND ($4::text IS NULL OR status = $4)
       AND ($5::text IS NULL OR type = $5) AND ($6::text IS NULL OR assigned_to = $6)
     ORDER BY id DESC LIMIT $7`,
    [
      projectsSeenBy(person),
      before,
      query.project ?? null,
      query.status ?? null,
      query.type ?? null,
      query.assignee ?? null,
      query.limit + 1,
    ],
  );
  const { rows, nextCursor } = pageOf(found, query.limit, ({ id }) => id);
  return { objects: rows, nextCursor };
}
