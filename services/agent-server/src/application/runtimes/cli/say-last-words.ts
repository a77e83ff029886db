import { lastWordsMs } from '../last-words.ts';
import { settles } from './listen.ts';
import { lastWordsWanted } from './said-to-program.ts';
import { startProgram } from './work.ts';
import type { CliWork } from './work.ts';

const barred = 'Not run: the session’s budget is used up.';

/**
 * The last exchange of a session whose budget is used up: the program goes on from its files, without tools. If it fails
 * or takes too long the session ends without it.
 * @returns what to add to the end's message; empty where nothing was said
 */
export async function sayLastWords(work: CliWork): Promise<string> {
  const { context, port, calls, hosted, storePoint } = work;
  storePoint.close();
  calls.bar(barred);
  hosted?.bar(barred);
  port.barTools();
  port.forgive();
  const signal = AbortSignal.any([context.closing, AbortSignal.timeout(lastWordsMs)]);
  let said = '';
  try {
    const program = await startProgram({ ...work, context: { ...context, signal } });
    try {
      // One that knows nothing of the work has nothing to say of it.
      if (!program.resumed) return '';
      program.say(lastWordsWanted);
      const end = await settles({ ...work, context: { ...context, signal } }, program, lastWordsMs);
      program.flush();
      said = end?.reason === 'finished' ? end.message : '';
    } finally {
      program.cli.kill();
      await program.cli.end;
    }
  } catch (error) {
    context.closing.throwIfAborted();
    context.log.warn(
      { sessionId: context.order.sessionId, err: error },
      'a session ends without its summary',
    );
  }
  return said;
}
