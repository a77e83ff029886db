import { ask } from '@lemniscate/api/client.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import * as prompts from '@clack/prompts';
import type { ApiClient } from '../api-client.ts';

/** Says something to a session. */
export async function sendMessage(client: ApiClient, sessionId: string, text: string): Promise<void> {
  await ask(
    client.api.POST('/v1/sessions/{id}/messages', { params: { path: { id: sessionId } }, body: { text } }),
  );
}

/** Finishes a session that waits for a message. */
export async function finishSession(client: ApiClient, sessionId: string): Promise<void> {
  await ask(client.api.POST('/v1/sessions/{id}/finish', { params: { path: { id: sessionId } } }));
}

/** Asks the person in front of the terminal what comes next; nothing finishes the session. */
export async function askNextMessage(client: ApiClient, sessionId: string): Promise<void> {
  const answer = await prompts.text({ message: 'What next? (nothing finishes the session)' });
  const text = prompts.isCancel(answer) ? '' : (answer ?? '').trim();
  try {
    await (text === '' ? finishSession(client, sessionId) : sendMessage(client, sessionId, text));
  } catch (error) {
    if (!isCodedError(error, 'conflict') && !isCodedError(error, 'session_ended')) throw error;
    prompts.log.warn('The session was finished meanwhile.');
  }
}
