import { ask } from '@lemniscate/api/client.ts';
import { randomUUID } from 'node:crypto';
import type { CreateSession, SessionView } from '@lemniscate/shared/api/session.ts';
import type { ApiClient } from './api-client.ts';
import { inspectRepository } from './repository/inspect.ts';
import type { LocalRepository } from './repository/inspect.ts';
import { uploadRepository } from './repository/upload.ts';

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
  const uploaded = await uploadRepository(client, repository, signal, body.project);
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
