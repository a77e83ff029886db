import { ask } from '@lemniscate/api/client.ts';
import type { ExtensionView } from '@lemniscate/shared/api/extension.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import * as prompts from '@clack/prompts';
import type { ApiClient } from '../api-client.ts';
import { askPerson } from './person.ts';
import type { Outcome, Person } from './person.ts';

/** The session's question for more budget that waits, if there is one. */
export async function waitingExtension(
  client: ApiClient,
  sessionId: string,
): Promise<ExtensionView | undefined> {
  const { extensions } = await ask(
    client.api.GET('/v1/sessions/{id}/extensions', { params: { path: { id: sessionId } } }),
  );
  return extensions.find(({ state }) => state === 'waiting');
}

/** Sends the answer. One that came too late is told, not thrown. */
export async function answerExtension(
  client: ApiClient,
  { sessionId, number }: ExtensionView,
  decision: 'extend' | 'end',
): Promise<'decided' | 'too_late'> {
  try {
    await ask(
      client.api.POST('/v1/sessions/{id}/extension', {
        params: { path: { id: sessionId } },
        body: { decision, number },
      }),
    );
    return 'decided';
  } catch (error) {
    const late = ['conflict', 'version_conflict', 'session_ended'] as const;
    if (late.some((code) => isCodedError(error, code))) return 'too_late';
    throw error;
  }
}

/** What was used, and what the next extension gives. */
export function describeExtension({ used, grants }: ExtensionView): string {
  const left = grants.left === 0 ? 'It is the last one.' : `${grants.left} more can follow it.`;
  return `Used: ${used.actions} actions, ${used.minutes} minutes of work.\nThe next extension grants ${grants.actions} more actions and ${grants.minutes} more minutes. ${left}`;
}

/** Asks the person in front of the terminal. Ctrl-C is an answer, too: the session comes to its end with what it has. */
export async function askExtension(
  person: Person,
  extension: ExtensionView,
): Promise<Outcome<'extend' | 'end'>> {
  prompts.note(describeExtension(extension), 'The session’s budget is used up', { output: person.output });
  const outcome = await askPerson(person, { letters: true }, (place) =>
    prompts.confirm({
      ...place,
      message: 'Extend it? (Ctrl-C means no, s or Ctrl-X stops the session)',
      initialValue: true,
    }),
  );
  if (outcome === 'stop' || outcome === 'withdrawn') return outcome;
  return { answer: outcome !== 'left' && outcome.answer ? 'extend' : 'end' };
}
