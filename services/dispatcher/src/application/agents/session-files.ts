import { filesBounds, faultOfFolder } from '@lemniscate/shared/agents/folder.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { objectKey } from '../ports/object-store.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { requireStored } from '../uploads/require-stored.ts';

/** Types by a name's ending. Nothing that a browser would run: what is not here is only bytes. */
const types: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  log: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  zip: 'application/zip',
};

/** The media type that a file is sent with. */
export function typeOfFile(path: string): string {
  const ending = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(types, ending) ? (types[ending] ?? '') : 'application/octet-stream';
}

/** Notes what a session's agent wrote for people, in the transaction that ends it. @returns a notice, or none */
export async function keepFiles(
  tx: Transaction,
  session: { readonly id: string; readonly project_id: string },
  files: readonly FolderFile[],
): Promise<string[]> {
  if (files.length === 0) return [];
  const fault = faultOfFolder(files, filesBounds);
  if (fault !== null) return [`The agent’s files were not kept: ${fault}.`];
  await requireStored(tx, session.project_id, files);
  await tx.query(
    `INSERT INTO session_files (session_id, path, sha256, bytes)
     SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[])`,
    [
      session.id,
      files.map(({ path }) => path),
      files.map(({ sha256 }) => sha256),
      files.map(({ bytes }) => bytes),
    ],
  );
  return [];
}

/** Files of a session, by path. */
export async function listFiles(
  tx: Transaction,
  session: string,
): Promise<(FolderFile & { type: string })[]> {
  const rows = await tx.query<FolderFile & Record<string, unknown>>(
    'SELECT path, sha256, bytes FROM session_files WHERE session_id = $1 ORDER BY path',
    [session],
  );
  return rows.map((file) => ({ ...file, type: typeOfFile(file.path) }));
}

/** One file with its bytes as they come. @throws CodedError `not_found`, `storage_failed` */
export async function openFile(
  deps: { readonly database: Transaction; readonly objects: ObjectStore },
  session: string,
  path: string,
): Promise<{ readonly bytes: number; readonly type: string; readonly body: AsyncIterable<Uint8Array> }> {
  const [row] = await deps.database.query<{ sha256: string; bytes: number; project_id: string }>(
    `SELECT f.sha256, f.bytes, s.project_id FROM session_files f JOIN sessions s ON s.id = f.session_id
     WHERE f.session_id = $1 AND f.path = $2`,
    [session, path],
  );
  if (row === undefined)
    throw new CodedError('not_found', `Session ${session} has no file ${path}.`, { path });
  const nothing = (async function* () {})();
  if (row.bytes === 0) return { bytes: 0, type: typeOfFile(path), body: nothing };
  const object = await deps.objects.get(objectKey(row.project_id, row.sha256));
  if (object === null)
    throw new CodedError('storage_failed', `The content of ${path} is not in the store any more.`, { path });
  return { bytes: row.bytes, type: typeOfFile(path), body: object.body };
}
