import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Every content must have been uploaded to the project, whole and verified, before anything names it. The empty content
 * is not an object.
 * @throws CodedError `not_found`
 */
export async function requireStored(
  tx: Transaction,
  project: string,
  contents: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[],
): Promise<void> {
  const wanted = contents.filter(({ bytes }) => bytes > 0);
  const missing = await tx.query<{ path: string }>(
    `SELECT w.path FROM unnest($2::text[], $3::text[], $4::bigint[]) AS w (path, sha256, bytes)
     WHERE NOT EXISTS (SELECT FROM uploads u WHERE u.project_id = $1 AND u.sha256 = w.sha256 AND u.bytes = w.bytes
       AND u.state = 'stored') LIMIT 5`,
    [
      project,
      wanted.map(({ path }) => path),
      wanted.map(({ sha256 }) => sha256),
      wanted.map(({ bytes }) => bytes),
    ],
  );
  if (missing.length === 0) return;
  throw new CodedError(
    'not_found',
    `These bytes have not been uploaded to project "${project}": ${missing.map(({ path }) => path).join(', ')}. POST /v1/uploads first.`,
  );
}
