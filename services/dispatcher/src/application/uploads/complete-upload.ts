import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { objectKey } from '../ports/object-store.ts';
import type { UploadDeps } from './announce-upload.ts';
import { incomingKey, readUpload } from './upload-row.ts';

/**
 * Verifies what was sent and gives it its content address; only then can anything name it. Completing twice is
 * harmless. Other bytes than the announced ones are removed and the upload is refused for good.
 * @throws CodedError `not_found`, `digest_mismatch`, `conflict` (nothing was sent yet), `storage_failed`
 */
export async function completeUpload(
  deps: UploadDeps,
  uploadId: string,
  owner: string,
): Promise<{ readonly sha256: string }> {
  const upload = await readUpload(deps.database, uploadId, owner);
  if (upload.state === 'stored') return { sha256: upload.sha256 };
  if (upload.state === 'refused') throw mismatch(uploadId);
  const key = objectKey(upload.project_id, upload.sha256);
  const outcome = await deps.objects.adopt(incomingKey(upload), key, upload);
  if (outcome === 'missing') {
    // A repeat of a completion whose answer was lost finds its bytes at their address.
    if ((await deps.objects.size(key)) !== upload.bytes)
      throw new CodedError(
        'conflict',
        `Nothing has been sent for upload ${uploadId} yet. PUT the bytes to the address first.`,
        { upload: uploadId },
      );
  }
  const state = outcome === 'mismatch' ? 'refused' : 'stored';
  await deps.database.query(
    `UPDATE uploads SET state = $2, completed_at = now() WHERE id = $1 AND state = 'announced'`,
    [uploadId, state],
  );
  if (outcome === 'mismatch') throw mismatch(uploadId);
  return { sha256: upload.sha256 };
}

function mismatch(uploadId: string): CodedError {
  return new CodedError(
    'digest_mismatch',
    `The bytes sent for upload ${uploadId} are not the ones that were announced. Announce and send them anew.`,
    { upload: uploadId },
  );
}
