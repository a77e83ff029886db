import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { Dispatcher } from './ports/dispatcher.ts';
import type { UploadObject } from './ports/patch-spool.ts';

/** A file as the dispatcher can name it when it is stored. */
export interface UploadedFile {
  readonly uploadId: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Stores a file for the session's project, through an address that the dispatcher signs. Bytes that the project has
 * already are not sent.
 * @throws CodedError `attempt_stale`, `storage_failed`, `digest_mismatch`, `service_unreachable`
 */
export async function uploadFile(
  deps: {
    readonly held: Held;
    readonly dispatcher: Pick<Dispatcher, 'requestUpload' | 'completeUpload'>;
    readonly uploadObject: UploadObject;
  },
  { file, sha256, bytes }: { readonly file: string; readonly sha256: string; readonly bytes: number },
  signal: AbortSignal,
): Promise<UploadedFile> {
  const { held, dispatcher } = deps;
  const { uploadId, put } = await dispatcher.requestUpload(held, { sha256, bytes }, signal);
  if (put !== null) {
    await deps.uploadObject(file, bytes, put, signal);
    await dispatcher.completeUpload(held, uploadId, signal);
  }
  return { uploadId, sha256, bytes };
}
