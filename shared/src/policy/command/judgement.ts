import type { CommandVerdict } from '../verdict.ts';

/** One judged part of a command: the text as written, what is said about it, and why. */
export interface Piece {
  readonly text: string;
  readonly verdict: CommandVerdict;
  readonly reason: string;
}

/** The verdict on a whole command: the strictest of its pieces. */
export interface CommandJudgement {
  readonly verdict: CommandVerdict;
  readonly pieces: readonly Piece[];
}

/** Whether the time that a judgement may take is over. Asked between steps; whoever judges injects the clock. */
export type IsLate = () => boolean;

/** Of a judgement that only its steps bound. */
export const neverLate: IsLate = () => false;

/** What an administrator said about commands: the first words of those that are free or always ask. */
export interface CommandRules {
  readonly free: readonly string[];
  readonly approval: readonly string[];
  /** Patterns of paths to which a write asks although the command is free; absent: none. */
  readonly flagged?: readonly string[];
}
