import type { Call } from '../refused/call.ts';

/** A reason to ask although the command is free. */
export interface Doubt {
  /** Place of the word that raises it; a free command that names this word lifts the doubt. */
  readonly index: number;
  readonly reason: string;
}

/** The first doubt about a call. */
export type Doubts = (call: Call) => Doubt | undefined;

/** A doubt about a word; none for the name, which is where a search that found nothing points. */
export const doubtAt = (index: number, reason: string): Doubt | undefined =>
  index > 0 ? { index, reason } : undefined;
