import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Something that somebody wants to store, or has. */
export interface UploadRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  /** As `personOwner` and `attemptOwner` name it. */
  readonly owner: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly state: 'announced' | 'stored' | 'refused';
}

/** How a person is named as an owner. */
export function personOwner(person: { readonly subject: string }): string {
  return `person:${person.subject}`;
}

/** How an attempt is named as an owner. */
export function attemptOwner(claim: { readonly sessionId: string; readonly attempt: number }): string {
  return `attempt:${claim.sessionId}/${claim.attempt}`;
}

/** Where unchecked bytes wait. Nobody but the owner of the upload is told the address. */
export function incomingKey(upload: Pick<UploadRow, 'id' | 'owner'>): string {
  return `incoming/${encodeURIComponent(upload.owner).replaceAll('.', '%2E')}/${upload.id}`;
}

/**
 * An upload of this owner. Somebody else's is as unknown as one that does not exist.
 * @throws CodedError `not_found`
 */
export async function readUpload(tx: Transaction, uploadId: string, owner: string): Promise<UploadRow> {
  const [row] = await tx.query<UploadRow>(
    'SELECT id, project_id, owner, sha256, bytes, state FROM uploads WHERE id = $1 AND owner = $2',
    [uploadId, owner],
  );
  if (row !== undefined) return row;
  throw new CodedError('not_found', `There is no upload ${uploadId} of yours.`, { upload: uploadId });
}
