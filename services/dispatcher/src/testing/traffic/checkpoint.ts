import { randomBytes } from 'node:crypto';
import type { CheckpointCause, TakeCheckpoint } from '@lemniscate/shared/protocol/checkpoint.ts';
import type { AttemptClaim } from '../../application/events/live-attempt.ts';
import { attemptOwner } from '../../application/uploads/upload-row.ts';
import type { TestRecord } from './record.ts';

/** A checkpoint whose objects the record takes for stored. */
export async function storedCheckpoint(
  record: Pick<TestRecord, 'database' | 'newId'>,
  claim: AttemptClaim,
  cause: CheckpointCause,
): Promise<TakeCheckpoint> {
  const stored = async () => {
    const upload = { uploadId: record.newId('upload'), sha256: randomBytes(32).toString('hex'), bytes: 100 };
    await record.database.query(
      `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state) VALUES ($1, 'local', $2, $3, $4, 'stored')`,
      [upload.uploadId, attemptOwner(claim), upload.sha256, upload.bytes],
    );
    return upload;
  };
  return {
    cause,
    baseCommit: 'a'.repeat(40),
    transcript: await stored(),
    archive: await stored(),
    workspaceDigest: randomBytes(32).toString('hex'),
    homeDigest: randomBytes(32).toString('hex'),
  };
}
