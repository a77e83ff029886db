import { ask } from '@lemniscate/api/client.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import * as prompts from '@clack/prompts';
import type { ApiClient } from '../api-client.ts';
import { askPerson } from './person.ts';
import type { Outcome, Person } from './person.ts';

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

/**
 * Asks the person in front of the terminal what comes next.
 * @returns what they say; '' when the session shall finish, as it does on Ctrl-C, for nothing is left to interrupt
 */
export async function askNextMessage(person: Person): Promise<Outcome<string>> {
  const outcome = await askPerson(person, { letters: false }, (place) =>
    prompts.text({
      ...place,
      message: 'What next? (nothing or Ctrl-C finishes the session, Ctrl-X stops it)',
    }),
  );
  if (outcome === 'left') return { answer: '' };
  if (typeof outcome === 'string') return outcome;
  return { answer: (outcome.answer ?? '').trim() };
}

/** Says what comes next, or finishes. @returns `too_late` when the session has ended meanwhile */
export async function sendNext(
  client: ApiClient,
  sessionId: string,
  text: string,
): Promise<'sent' | 'too_late'> {
  try {
    await (text === '' ? finishSession(client, sessionId) : sendMessage(client, sessionId, text));
    return 'sent';
  } catch (error) {
    if (!isCodedError(error, 'conflict') && !isCodedError(error, 'session_ended')) throw error;
    return 'too_late';
  }
}
