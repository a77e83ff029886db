import type { InboxItem, InboxKind, MarkInboxItem } from '@lemniscate/shared/api/inbox.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { everyProject, roles } from '@lemniscate/shared/identity/roles.ts';
import { projectsWith } from '../identity.ts';
import type { Person } from '../identity.ts';
import { pageOf, readCursorOf } from '../objects/object-row.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Something that a person is to look at. */
export interface NewInboxItem {
  readonly kind: InboxKind;
  readonly project: string;
  readonly title: string;
  /** Names the thing: a second item about it is none. */
  readonly about: string;
  readonly object?: string | null;
  readonly comment?: string | null;
  readonly session?: string | null;
}

/** Longest title in a list; objects' titles and closing words can be longer. */
const titleLength = 300;

/** Puts something into inboxes, in the transaction in which it happened. */
export async function putIntoInbox(
  { newId }: { readonly newId: NewId },
  tx: Transaction,
  people: readonly string[],
  item: NewInboxItem,
): Promise<void> {
  for (const subject of new Set(people))
    await tx.query(
      `INSERT INTO inbox_items (id, subject, kind, project_id, title, object_id, comment_id, session_id, about)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (subject, about) DO NOTHING`,
      [
        newId('inboxItem'),
        subject,
        item.kind,
        item.project,
        item.title.slice(0, titleLength).toWellFormed(),
        item.object ?? null,
        item.comment ?? null,
        item.session ?? null,
        item.about,
      ],
    );
}

interface ItemRow extends Record<string, unknown> {
  readonly id: string;
  readonly kind: string;
  readonly project_id: string;
  readonly title: string;
  readonly object_id: string | null;
  readonly comment_id: string | null;
  readonly session_id: string | null;
  readonly approval_id: string | null;
  readonly created_at: string;
  readonly read_at: string | null;
  readonly done_at: string | null;
}

const columns =
  'id, kind, project_id, title, object_id, comment_id, session_id, approval_id, created_at, read_at, done_at';

const toItem = (row: ItemRow): InboxItem => ({
  id: row.id,
  kind: row.kind,
  project: row.project_id,
  title: row.title,
  object: row.object_id,
  comment: row.comment_id,
  session: row.session_id,
  approval: row.approval_id,
  createdAt: row.created_at,
  readAt: row.read_at,
  doneAt: row.done_at,
});

export interface InboxQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** `open`: not done; `unread`: neither read nor done. */
  readonly show: 'open' | 'unread' | 'done' | 'all';
  readonly kind?: string | undefined;
}

const shown = {
  open: 'done_at IS NULL',
  unread: 'done_at IS NULL AND read_at IS NULL',
  done: 'done_at IS NOT NULL',
  all: 'true',
} as const;

/**
 * SQL: whether the person may know of the project as `$n` lists theirs. Anybody can be named in a comment or an assignment;
 * the title is for those alone who belong there, at the moment at which they look.
 */
const known = (parameter: string): string =>
  `(project_id = '${everyProject}' OR ${parameter}::text[] IS NULL OR project_id = ANY(${parameter}))`;

/** A page of somebody's inbox, the newest first. */
export async function readInbox(
  tx: Transaction,
  person: Person,
  query: InboxQuery,
): Promise<{ items: InboxItem[]; unread: number; nextCursor: string | null }> {
  const before = query.cursor === undefined ? null : readCursorOf(query.cursor, 'inboxItem');
  const projects = projectsWith(person, ...roles);
  const [found, [count]] = await Promise.all([
    tx.query<ItemRow>(
      `SELECT ${columns} FROM inbox_items WHERE subject = $1 AND ${shown[query.show]} AND ($2::text IS NULL OR id < $2)
         AND ($3::text IS NULL OR kind = $3) AND ${known('$5')} ORDER BY id DESC LIMIT $4`,
      [person.subject, before, query.kind ?? null, query.limit + 1, projects],
    ),
    tx.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM inbox_items WHERE subject = $1 AND ${shown.unread} AND ${known('$2')}`,
      [person.subject, projects],
    ),
  ]);
  const { rows, nextCursor } = pageOf(found, query.limit, ({ id }) => id);
  return { items: rows.map(toItem), unread: count?.n ?? 0, nextCursor };
}

/** Says that an item was read, or is done; or that it was not after all. @throws CodedError `not_found` */
export async function markItem(
  tx: Transaction,
  person: Person,
  id: string,
  { read, done }: MarkInboxItem,
): Promise<InboxItem> {
  const [row] = await tx.query<ItemRow>(
    `UPDATE inbox_items SET
       read_at = CASE WHEN $3::boolean IS NULL THEN CASE WHEN $4 THEN coalesce(read_at, now()) ELSE read_at END
         WHEN $3 THEN coalesce(read_at, now()) END,
       done_at = CASE WHEN $4::boolean IS NULL THEN done_at WHEN $4 THEN coalesce(done_at, now()) END
     WHERE id = $1 AND subject = $2 AND ${known('$5')} RETURNING ${columns}`,
    [id, person.subject, read ?? null, done ?? null, projectsWith(person, ...roles)],
  );
  if (row !== undefined) return toItem(row);
  throw new CodedError('not_found', `There is no item ${id} in your inbox. GET /v1/inbox lists them.`, {
    item: id,
  });
}
