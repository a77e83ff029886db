import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ContentKeys } from '../ports/content-keys.ts';
import type { Transaction } from '../ports/transaction.ts';
import { newKey, seal, unseal } from './envelope.ts';

interface KeyRow extends Record<string, unknown> {
  readonly wrapped: Buffer | null;
  readonly wrapped_by: string;
}

const projectName = (project: string): string => `project ${project}`;
const sessionName = (session: string): string => `session ${session}`;

/** The key of a session's content, made at its first use. @throws CodedError `not_found` where it was shredded */
export async function sessionKey(
  tx: Transaction,
  keys: ContentKeys,
  session: { readonly id: string; readonly project_id: string },
): Promise<Uint8Array> {
  const project = await projectKey(tx, keys, session.project_id);
  const about = sessionName(session.id);
  const row =
    (await readKey(tx, 'session', session.id)) ??
    (await addKey(tx, 'session', session.id, session.project_id, {
      wrapped: seal(project, about, newKey()),
      wrapped_by: projectName(session.project_id),
    }));
  return opened(row, about, row.wrapped === null ? null : unseal(project, about, row.wrapped));
}

async function projectKey(tx: Transaction, keys: ContentKeys, project: string): Promise<Uint8Array> {
  const row =
    (await readKey(tx, 'project', project)) ??
    (await addKey(tx, 'project', project, project, {
      wrapped: Buffer.from(await keys.wrap(newKey())),
      wrapped_by: keys.name,
    }));
  const key = row.wrapped === null ? null : await keys.unwrap(row.wrapped, row.wrapped_by);
  return opened(row, projectName(project), key);
}

function opened(row: KeyRow, about: string, key: Uint8Array | null): Uint8Array {
  if (row.wrapped === null)
    throw new CodedError('not_found', `The content of ${about} was shredded: its key is gone for good.`);
  if (key !== null) return key;
  throw new CodedError(
    'storage_failed',
    `The key of the content of ${about} does not open with ${row.wrapped_by}.`,
  );
}

async function readKey(tx: Transaction, scope: string, id: string): Promise<KeyRow | null> {
  const [row] = await tx.query<KeyRow>(
    'SELECT wrapped, wrapped_by FROM content_keys WHERE scope = $1 AND of_id = $2',
    [scope, id],
  );
  return row ?? null;
}

/** Of two that make a key at once, both get the one that is written. */
async function addKey(
  tx: Transaction,
  scope: string,
  id: string,
  project: string,
  { wrapped, wrapped_by }: KeyRow,
): Promise<KeyRow> {
  await tx.query(
    `INSERT INTO content_keys (scope, of_id, project_id, wrapped, wrapped_by) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [scope, id, project, wrapped, wrapped_by],
  );
  return (await readKey(tx, scope, id)) ?? { wrapped: null, wrapped_by };
}
