import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { contentPartSchema } from '@lemniscate/shared/api/retention.ts';
import type { ContentPart } from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { appendToReview } from '../audit/append-about-session.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unseal } from './envelope.ts';
import { partName } from './retain-content.ts';
import type { RetainDeps } from './retain-content.ts';
import { sessionKey } from './session-key.ts';

export type ReadContentDeps = Pick<RetainDeps, 'database' | 'audit' | 'objects' | 'contentKeys'>;

interface PartRow extends Record<string, unknown> {
  readonly project_id: string;
  readonly object_key: string;
  readonly sha256: string;
}

/** How many parts a session's retained content has; 0 where none is retained. */
export async function countParts(tx: Transaction, session: string): Promise<number> {
  const [row] = await tx.query<{ parts: number }>(
    'SELECT count(*)::int AS parts FROM retained_content WHERE session_id = $1',
    [session],
  );
  return row?.parts ?? 0;
}

/**
 * Opens a part. That it was shown, and to whom, is on record before a byte of it leaves.
 * @throws CodedError `not_found` where nothing is retained or its key was shredded; `storage_failed` where what lies in
 *   the bucket is not what was retained
 */
export async function readContent(
  deps: ReadContentDeps,
  person: Person,
  session: string,
  part: number,
): Promise<ContentPart> {
  const [row] = await deps.database.query<PartRow>(
    'SELECT project_id, object_key, sha256 FROM retained_content WHERE session_id = $1 AND part = $2',
    [session, part],
  );
  if (row === undefined || deps.contentKeys === null)
    throw new CodedError('not_found', `There is no part ${part} of retained content of session ${session}.`);
  const keys = deps.contentKeys;
  const key = await deps.database.transaction((tx) =>
    sessionKey(tx, keys, { id: session, project_id: row.project_id }),
  );
  const sealed = await load(deps, row.object_key);
  const whole = createHash('sha256').update(sealed).digest('hex') === row.sha256;
  const packed = whole ? unseal(key, partName(session, part), sealed) : null;
  if (packed === null)
    throw new CodedError('storage_failed', `The retained content ${row.object_key} is not what was stored.`);
  await deps.database.transaction((tx) =>
    appendToReview(deps.audit, tx, { id: session, project_id: row.project_id }, [
      { type: 'content.read', subject: person.subject, body: { kind: 'session', part } },
    ]),
  );
  return contentPartSchema.parse(JSON.parse(gunzipSync(packed).toString()));
}

async function load({ objects }: ReadContentDeps, key: string): Promise<Buffer> {
  const found = await objects.get(key);
  if (found === null) throw new CodedError('storage_failed', `The retained content ${key} is gone.`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
