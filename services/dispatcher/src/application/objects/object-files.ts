import type { z } from 'zod';
import type { objectFileSchema } from '@lemniscate/shared/api/object.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { typeOfFile } from '../agents/session-files.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { auditActor, auditSubject, personActor } from './actor.ts';
import type { Actor } from './actor.ts';
import { recordAct } from './history.ts';
import { findObject } from './object-row.ts';
import type { ObjectRow } from './object-row.ts';

type ObjectFile = z.infer<typeof objectFileSchema>;

interface FileRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly path: string;
  readonly bytes: number;
  readonly actor_kind: ObjectFile['attachedBy']['kind'];
  readonly attached_by: string;
  readonly attached_at: string;
}

/** Files that were attached to an object, the oldest first. */
export async function listObjectFiles(tx: Transaction, object: string): Promise<ObjectFile[]> {
  const rows = await tx.query<FileRow>(
    `SELECT o.session_id, o.path, f.bytes, o.actor_kind, o.attached_by, o.attached_at
     FROM object_files o JOIN session_files f ON f.session_id = o.session_id AND f.path = o.path
     WHERE o.object_id = $1 ORDER BY o.attached_at, o.session_id, o.path LIMIT 500`,
    [object],
  );
  return rows.map((row) => ({
    session: row.session_id,
    path: row.path,
    bytes: row.bytes,
    type: typeOfFile(row.path),
    url: `/v1/sessions/${row.session_id}/files/content?path=${encodeURIComponent(row.path)}`,
    attachedBy: { kind: row.actor_kind, id: row.attached_by },
    attachedAt: row.attached_at,
  }));
}

/**
 * Attaches a file of a session of the same project by link; the bytes stay the session's.
 * @throws CodedError `not_found`, `forbidden`
 */
export async function attachFile(
  deps: AttachDeps & { readonly database: Database },
  person: Person,
  id: string,
  file: { readonly session: string; readonly path: string },
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const object = await findObject(tx, person, id, 'FOR UPDATE');
    requireRole(person, object.project_id, 'attach a file', 'member', 'project_admin', 'administrator');
    const [found] = await tx.query(
      `SELECT FROM session_files f JOIN sessions s ON s.id = f.session_id
       WHERE f.session_id = $1 AND f.path = $2 AND s.project_id = $3`,
      [file.session, file.path, object.project_id],
    );
    if (found === undefined)
      throw new CodedError(
        'not_found',
        `Session ${file.session} has no file ${file.path} in project "${object.project_id}". GET /v1/sessions/${file.session}/files lists them.`,
        { session: file.session },
      );
    await attach(deps, tx, object, personActor(person), file.session, [file.path]);
  });
}

export interface AttachDeps {
  readonly audit: AuditLog;
  readonly self: string;
}

/** Notes the link, the act and its entry; a file that is attached already stays as it is. */
export async function attach(
  deps: AttachDeps,
  tx: Transaction,
  { id: object, project_id: project }: Pick<ObjectRow, 'id' | 'project_id'>,
  actor: Actor,
  session: string,
  paths: readonly string[],
): Promise<void> {
  const added = await tx.query<{ path: string }>(
    `INSERT INTO object_files (object_id, session_id, path, actor_kind, attached_by)
     SELECT $1, $2, path, $4, $5 FROM unnest($3::text[]) AS path ON CONFLICT DO NOTHING RETURNING path`,
    [object, session, paths, actor.kind, actor.id],
  );
  if (added.length === 0) return;
  await recordAct(tx, object, actor, 'attached', { session, files: added.map(({ path }) => path) });
  await deps.audit.append(tx, reviewChain(project), [
    {
      type: 'object.attached',
      subject: auditSubject(actor, deps.self),
      body: { object, session, files: added.length, ...auditActor(actor) },
    },
  ]);
}
