import { CodedError } from './errors/coded-error.ts';

/** For each state the states that may follow it. A state without followers is an end. */
export type TransitionTable<State extends string> = Readonly<Record<State, readonly State[]>>;

/** Whether the table has the step. Staying in a state is not a step unless the table lists it. */
export function canTransition<State extends string>(
  table: TransitionTable<State>,
  from: State,
  to: State,
): boolean {
  return table[from].includes(to);
}

/**
 * The one function that every state change runs through.
 * @param what names the machine and the thing, such as `session s_1`, for the error's reader
 * @returns `to`, so that it can stand where the new state is written
 * @throws CodedError `transition_refused`
 */
export function checkTransition<State extends string>(
  table: TransitionTable<State>,
  from: State,
  to: State,
  what: string,
): State {
  if (canTransition(table, from, to)) return to;
  throw new CodedError('transition_refused', `${what} is ${from} and cannot become ${to}.`, { from, to });
}

/** Whether the state is an end. */
export function isEnd<State extends string>(table: TransitionTable<State>, state: State): boolean {
  return table[state].length === 0;
}
