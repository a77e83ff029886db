import { ask } from '@lemniscate/api/client.ts';
import { openAsBlob } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { ApiClient } from '../api-client.ts';
import { withBundle } from './bundle.ts';
import type { Bundle } from './bundle.ts';
import type { LocalRepository } from './inspect.ts';

const transferTimeoutMs = 10 * 60 * 1000;

/** A repository in the fleet's store, ready to be named by a session. */
export interface UploadedRepository {
  readonly source: RepositorySource;
  readonly dirty: boolean;
}

/**
 * Packs a local repository and hands it to a project of the fleet, `local` if none is named; bytes that the fleet already
 * has are not sent again.
 * @param largeFiles whether the contents of Git LFS files come along
 */
export async function uploadRepository(
  client: ApiClient,
  repository: LocalRepository,
  signal: AbortSignal,
  project?: string,
  largeFiles = false,
): Promise<UploadedRepository> {
  const send = async (bundle: Bundle): Promise<UploadedRepository> => {
    const upload = await ask(
      client.api.POST('/v1/uploads', {
        params: { query: { project } },
        body: { sha256: bundle.sha256, bytes: bundle.bytes },
        signal,
      }),
    );
    if (upload.put !== null) {
      const sent = await fetch(upload.put.url, {
        method: 'PUT',
        headers: upload.put.headers,
        body: await openAsBlob(bundle.file),
        signal: AbortSignal.any([signal, AbortSignal.timeout(transferTimeoutMs)]),
      });
      if (!sent.ok)
        throw new CodedError(
          'storage_failed',
          `The repository could not be sent: the store answered ${sent.status}.`,
        );
      await ask(
        client.patient(transferTimeoutMs).POST('/v1/uploads/{uploadId}/complete', {
          params: { path: { uploadId: upload.uploadId } },
          signal,
        }),
      );
    }
    return {
      source: { kind: 'bundle', sha256: bundle.sha256, commit: bundle.commit, name: repository.name },
      dirty: bundle.dirty,
    };
  };
  return withBundle(repository, send, { largeFiles });
}
