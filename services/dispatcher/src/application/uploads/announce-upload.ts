import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { UploadAnswer, UploadRequest } from '@lemniscate/shared/protocol/session-result.ts';
import { objectKey } from '../ports/object-store.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Database } from '../ports/transaction.ts';
import { incomingKey } from './upload-row.ts';

export interface UploadDeps {
  readonly database: Database;
  readonly objects: ObjectStore;
  readonly newId: NewId;
}

/** How long the address of a PUT is valid. Seconds. */
const putSeconds = 15 * 60;

/**
 * Announces bytes and gives an address for them. Where the project has the very bytes already, nothing needs to be sent.
 * @throws CodedError `project_unknown`, `storage_failed`
 */
export async function announceUpload(
  deps: UploadDeps,
  projectId: string,
  owner: string,
  content: UploadRequest,
): Promise<UploadAnswer> {
  const present = await isPresent(deps, projectId, content);
  const upload = { id: deps.newId('upload'), owner };
  const [row] = await deps.database.query(
    `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
     SELECT $1, id, $3, $4, $5, $6, CASE WHEN $6 = 'stored' THEN now() END FROM projects WHERE id = $2 RETURNING 1`,
    [upload.id, projectId, owner, content.sha256, content.bytes, present ? 'stored' : 'announced'],
  );
  if (row === undefined)
    throw new CodedError('project_unknown', `There is no project ${projectId}.`, { project: projectId });
  const put = present ? null : await deps.objects.presignPut(incomingKey(upload), content, putSeconds);
  return { uploadId: upload.id, put };
}

/** The record says that it was verified once, the store that it is still there. */
async function isPresent(deps: UploadDeps, projectId: string, content: UploadRequest): Promise<boolean> {
  const [stored] = await deps.database.query(
    `SELECT 1 FROM uploads WHERE project_id = $1 AND sha256 = $2 AND bytes = $3 AND state = 'stored' LIMIT 1`,
    [projectId, content.sha256, content.bytes],
  );
  if (stored === undefined) return false;
  return (await deps.objects.size(objectKey(projectId, content.sha256))) === content.bytes;
}
