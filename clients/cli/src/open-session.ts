import { ask } from '@lemniscate/api/client.ts';
import { randomUUID } from 'node:crypto';
import type { CreateSession, SessionView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { largeFileModes } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { inspectRepository } from './repository/inspect.ts';
import type { LocalRepository } from './repository/inspect.ts';
import { uploadRepository } from './repository/upload.ts';

/** The part of a policy that asks for large files. */
const asking = z.looseObject({ repository: z.looseObject({ lfs: z.enum(largeFileModes) }) });

export interface OpenRequest extends Omit<CreateSession, 'repository'> {
  readonly repositoryFolder: string;
}

export interface OpenedSession {
  readonly session: SessionView;
  readonly repository: LocalRepository;
  readonly dirty: boolean;
}

/** Sends a local repository and opens a session on it. A repeat after a lost answer finds the same session. */
export async function openSession(
  client: ApiClient,
  request: OpenRequest,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const { repositoryFolder, ...body } = request;
  const repository = await inspectRepository(repositoryFolder);
  const largeFiles = await wantsLargeFiles(client, body.project ?? 'local', signal);
  const uploaded = await uploadRepository(client, repository, signal, body.project, largeFiles);
  signal.throwIfAborted();
  // Not cut off by Ctrl-C: whoever opens a session has to know which one there is to stop.
  const session = await ask(
    client.api.POST('/v1/sessions', {
      body: { ...body, repository: uploaded.source },
      headers: { 'idempotency-key': randomUUID() },
    }),
  );
  return { session, repository, dirty: uploaded.dirty };
}

/** Whether the project's policy asks for the contents of large files; who may not read it sends none. */
async function wantsLargeFiles(client: ApiClient, id: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { policy } = await ask(
      client.api.GET('/v1/projects/{id}/policy', { params: { path: { id } }, signal }),
    );
    return asking.safeParse(policy).success;
  } catch (error) {
    if (isCodedError(error, 'forbidden') || isCodedError(error, 'not_found')) return false;
    throw error;
  }
}
