import type { CliTalk } from './talk.ts';

/** Why a program that has worked on the session is told something that no person has said. */
export type GoOnCause = 'elsewhere' | 'died' | 'stored';

const openings: Readonly<Record<GoOnCause, string>> = {
  elsewhere:
    'You were interrupted and work in a fresh sandbox now; the working copy is as you left it. Go on with the task.',
  died: 'You were interrupted in the middle of your work. Look at where you are and go on with the task.',
  stored: 'You were interrupted for a moment, so that your work could be stored. Go on with the task.',
};

/** What a program is told that goes on from its own files: it does not know what became of what it had open. */
export function goOn(cause: GoOnCause, { stopped, waiting, messages, said }: CliTalk): string {
  const asked = waiting.all().map(({ about }) => about);
  return [
    openings[cause],
    ...(messages === 0 ? [] : [`The last that the person said was: ${said}`]),
    ...stopped.map(wasStopped),
    ...asked.map(
      (about) =>
        `You had asked for this and waited for its permission; ask for exactly the same again, for the decision counts for it: ${about}`,
    ),
  ].join('\n\n');
}

/** What a program is told that begins anew, since its predecessor was killed before it had written anything down. */
export function beginAnew(said: string, { stopped }: CliTalk): string {
  return [said, ...stopped.map(wasStopped)].join('\n\n');
}

function wasStopped(about: string): string {
  return `This was stopped and may have done part of its work: ${about}`;
}

/** The last words of a session whose budget is used up. */
export const lastWordsWanted =
  'The session’s budget is used up and it stops here; no tool can be used any more. Say in a few sentences what you have done, what is left to do and what the person should look at.';
