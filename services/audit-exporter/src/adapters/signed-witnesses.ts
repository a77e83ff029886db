import { openNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { newer, noteOf, readMemory } from './signed-memory.ts';
import type { Remembered } from './signed-memory.ts';

/** A receiver that takes longer does not answer. */
const answerMs = 15_000;

/**
 * The newest checkpoint of this log that receivers have. One that no key of the log has signed says nothing.
 * @param all every one has to answer: this keeper remembers nothing itself
 * @throws CodedError `service_unreachable`
 */
export async function askWitnesses(
  witnesses: readonly (() => Promise<string | null>)[],
  keys: readonly LogKey[],
  all: boolean,
): Promise<Remembered | null> {
  const answers = await Promise.allSettled(witnesses.map(answerOf));
  const silent = answers.find((answer) => answer.status === 'rejected');
  if (all && silent !== undefined)
    throw new CodedError(
      'service_unreachable',
      'This exporter remembers no signed checkpoint, and a receiver that could tell the last one does not answer. ' +
        'Nothing is signed before it does.',
      {},
      silent.reason,
    );
  return answers
    .map((answer) => (answer.status === 'fulfilled' ? signedIn(answer.value, keys) : null))
    .reduce(newer, null);
}

async function answerOf(witness: () => Promise<string | null>): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), answerMs);
  });
  try {
    return await Promise.race([witness(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function signedIn(line: string | null, keys: readonly LogKey[]): Remembered | null {
  if (line === null) return null;
  try {
    const read = readMemory('a receiver', line);
    return keys.some((key) => openNote(noteOf(line), key) !== null) ? read : null;
  } catch {
    // no checkpoint of ours: whoever wrote it there cannot stop the log by it
    return null;
  }
}
