import type { TransitionTable } from '../transition-table.ts';

/** The six states of a tool call. */
export const toolCallStates = ['generating', 'generated', 'calling', 'done', 'errored', 'canceled'] as const;
export type ToolCallState = (typeof toolCallStates)[number];

/**
 * Nothing runs from `generating`; the decision falls in `generated`. A call whose arguments do not parse goes
 * from `generating` to `errored`; an interrupt moves `generating` and `generated` to `canceled`.
 */
export const toolCallTransitions: TransitionTable<ToolCallState> = {
  generating: ['generated', 'errored', 'canceled'],
  generated: ['calling', 'errored', 'canceled'],
  calling: ['done', 'errored', 'canceled'],
  done: [],
  errored: [],
  canceled: [],
};

/** States in which the loop must still wait for the call. */
export const intermediateToolCallStates: readonly ToolCallState[] = ['generating', 'generated', 'calling'];
