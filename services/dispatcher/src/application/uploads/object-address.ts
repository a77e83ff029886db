import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';

/** How long the address of a GET is valid. Seconds. */
const getSeconds = 10 * 60;

/**
 * An address from which an agent server reads a stored object, such as a repository's bundle.
 * @throws CodedError `repository_missing` when the project has no such object, `storage_failed`
 */
export async function objectAddress(
  deps: { readonly database: Transaction; readonly objects: ObjectStore },
  projectId: string,
  sha256: string,
): Promise<string> {
  const [stored] = await deps.database.query(
    `SELECT 1 FROM uploads WHERE project_id = $1 AND sha256 = $2 AND state = 'stored' LIMIT 1`,
    [projectId, sha256],
  );
  if (stored === undefined)
    throw new CodedError(
      'repository_missing',
      `Project ${projectId} has no stored object ${sha256}. Upload it and complete the upload first.`,
      { project: projectId, sha256 },
    );
  return deps.objects.presignGet(objectKey(projectId, sha256), getSeconds);
}
