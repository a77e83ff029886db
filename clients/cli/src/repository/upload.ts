import { openAsBlob } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { uploadAnswerSchema } from '@lemniscate/shared/protocol/session-result.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { withBundle } from './bundle.ts';
import type { LocalRepository } from './inspect.ts';

const transferTimeoutMs = 10 * 60 * 1000;

/** A repository in the fleet's store, ready to be named by a session. */
export interface UploadedRepository {
  readonly source: RepositorySource;
  readonly dirty: boolean;
}

/** Packs a local repository and hands it to a project of the fleet, `local` if none is named; bytes that the fleet already has are not sent again. */
export async function uploadRepository(
  client: ApiClient,
  repository: LocalRepository,
  signal: AbortSignal,
  project?: string,
): Promise<UploadedRepository> {
  const query = project === undefined ? '' : `?project=${encodeURIComponent(project)}`;
  return withBundle(repository, async (bundle) => {
    const upload = await client.json(`/v1/uploads${query}`, uploadAnswerSchema, {
      method: 'POST',
      body: { sha256: bundle.sha256, bytes: bundle.bytes },
      signal,
    });
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
      await client.json(`/v1/uploads/${upload.uploadId}/complete`, z.unknown(), {
        method: 'POST',
        body: {},
        signal,
        timeoutMs: transferTimeoutMs,
      });
    }
    return {
      source: { kind: 'bundle', sha256: bundle.sha256, commit: bundle.commit, name: repository.name },
      dirty: bundle.dirty,
    };
  });
}
