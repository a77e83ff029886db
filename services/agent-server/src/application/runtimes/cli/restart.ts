import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';

/** A program that left without a last word: killed by a command, crashed. */
export interface DiedEnd extends RuntimeEnd {
  /** Whether it may be better the next time; a program that is missing stays missing. */
  readonly again: boolean;
}

/** One that dies again and again will not get better. */
const maxRestarts = 2;

/**
 * Runs a program, and again from its own session files when it has died in the middle of its work.
 * @param start the n-th start, from 0
 */
export async function withRestarts(
  { sink, signal }: Pick<RuntimeContext, 'sink' | 'signal'>,
  start: (count: number) => Promise<RuntimeEnd | DiedEnd>,
): Promise<RuntimeEnd> {
  for (let count = 0; ; count += 1) {
    const end = await start(count);
    if (!('again' in end)) return end;
    if (!end.again || count >= maxRestarts || signal.aborted)
      return { reason: end.reason, message: end.message };
    sink.emit({ type: 'notice', text: `${end.message.slice(0, 3000)} It is started again.` });
  }
}
