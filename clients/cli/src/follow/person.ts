import type { Writable } from 'node:stream';
import * as prompts from '@clack/prompts';
import pc from 'picocolors';
import type { CommandIo } from '../io.ts';
import type { ViewColours } from './colours.ts';
import { stopKey } from './keys.ts';

/** Where the person is asked. */
export interface Person {
  readonly input: CommandIo['stdin'];
  readonly output: Writable;
  readonly paint: ViewColours;
  /** Aborts when nobody wants the answer any more. */
  readonly withdrawn: AbortSignal;
}

/** What a question came to: an answer, or how the person left it. Whoever leaves it has decided nothing. */
export type Outcome<Answer> = { readonly answer: Answer } | 'left' | 'stop' | 'withdrawn';

/** What a prompt of the library needs to be asked here, and to be taken away. */
export interface PromptPlace {
  readonly input: CommandIo['stdin'];
  readonly output: Writable;
  readonly signal: AbortSignal;
}

export function personAt(io: Pick<CommandIo, 'stdin' | 'stdout' | 'colour'>, withdrawn: AbortSignal): Person {
  return { input: io.stdin, output: io.stdout, paint: pc.createColors(io.colour), withdrawn };
}

/**
 * Asks one thing. The stop key ends the question as it ends everything else, also while a text is typed: a person who
 * must stop an agent does not first look for the way out of a question.
 * @param letters whether `s` stops as well; not where it may be part of a text
 */
export async function askPerson<Answer>(
  person: Person,
  { letters }: { readonly letters: boolean },
  prompt: (place: PromptPlace) => Promise<Answer>,
): Promise<Outcome<Exclude<Answer, symbol>>> {
  const stopped = new AbortController();
  const hear = (letter: string | undefined): void => {
    if (letter === stopKey || (letters && letter?.toLowerCase() === 's')) stopped.abort();
  };
  person.input.on('keypress', hear);
  try {
    const signal = AbortSignal.any([stopped.signal, person.withdrawn]);
    const answer = await prompt({ input: person.input, output: person.output, signal });
    if (stopped.signal.aborted) return 'stop';
    if (person.withdrawn.aborted) return 'withdrawn';
    return prompts.isCancel(answer) ? 'left' : { answer: answer as Exclude<Answer, symbol> };
  } finally {
    person.input.off('keypress', hear);
  }
}
