import type { CommentView, ObjectView } from '@lemniscate/shared/api/object.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { idPattern } from '@lemniscate/shared/id.ts';
import type { IdKind } from '@lemniscate/shared/id.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { projectsSeenBy } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';

export interface ObjectRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly version: number;
  readonly type: string;
  readonly title: string;
  readonly body: string;
  readonly status: string;
  readonly labels: string[];
  readonly assignee_kind: 'person' | 'agent' | null;
  readonly assigned_to: string | null;
  readonly repository: RepositorySource | null;
  readonly source: string;
  readonly source_key: string | null;
  readonly url: string | null;
  readonly actor_kind: ObjectView['createdBy']['kind'];
  readonly created_by: string;
  readonly created_at: string;
  readonly changed_at: string;
}

export const objectColumns = `id, project_id, version, type, title, body, status, labels, assignee_kind, assigned_to,
  repository, source, source_key, url, actor_kind, created_by, created_at, changed_at`;

export const toObjectView = (row: ObjectRow): ObjectView => ({
  id: row.id,
  project: row.project_id,
  version: row.version,
  type: row.type,
  title: row.title,
  body: row.body,
  status: row.status,
  labels: row.labels,
  assignee:
    row.assignee_kind === null || row.assigned_to === null
      ? null
      : { kind: row.assignee_kind, id: row.assigned_to },
  repository: row.repository,
  source: row.source,
  sourceKey: row.source_key,
  url: row.url,
  createdBy: { kind: row.actor_kind, id: row.created_by },
  createdAt: row.created_at,
  changedAt: row.changed_at,
});

export interface CommentRow extends Record<string, unknown> {
  readonly id: string;
  readonly object_id: string;
  readonly body: string;
  readonly reply_to: string | null;
  readonly actor_kind: CommentView['createdBy']['kind'];
  readonly created_by: string;
  readonly member_by: string | null;
  readonly session_id: string | null;
  readonly url: string | null;
  readonly thread: string | null;
  readonly created_at: string;
}

export const commentColumns =
  'id, object_id, body, reply_to, actor_kind, created_by, member_by, session_id, url, thread, created_at';

export const toCommentView = (row: CommentRow): CommentView => ({
  id: row.id,
  object: row.object_id,
  body: row.body,
  replyTo: row.reply_to,
  createdBy: { kind: row.actor_kind, id: row.created_by },
  session: row.session_id,
  url: row.url,
  createdAt: row.created_at,
});

/**
 * An object that the person may see, locked where it is to change.
 * @throws CodedError `not_found`, the same for one of a project that is not the person's
 */
export async function findObject(
  tx: Transaction,
  person: Person,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<ObjectRow> {
  const projects = projectsSeenBy(person);
  const [row] = await tx.query<ObjectRow>(
    `SELECT ${objectColumns} FROM objects WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2)) ${lock}`,
    [id, projects],
  );
  if (row !== undefined) return row;
  throw unknownObject(id);
}

export const unknownObject = (id: string): CodedError =>
  new CodedError('not_found', `There is no object ${id} here. GET /v1/objects lists them.`, { object: id });

/** Where a page ends, as its reader sends it back. */
export const cursorAt = (id: string): string => Buffer.from(id).toString('base64url');

/** @throws CodedError `request_invalid` for a cursor that is none of ours */
export function readCursorOf(cursor: string, kind: IdKind | 'number'): string {
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (kind === 'number' ? /^\d{1,18}$/.test(id) : idPattern(kind).test(id)) return id;
  throw new CodedError('request_invalid', 'The cursor is not one of ours. Start without one.');
}

/** Cuts what was read one row too far into a page. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  idOf: (row: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, nextCursor: rows.length > limit && last !== undefined ? cursorAt(idOf(last)) : null };
}
