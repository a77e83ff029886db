import type { ToolCallState } from './state.ts';
import { toolCallTransitions } from './state.ts';

/**
 * Where a call stands after a report. Reports travel in batches and the permit does not, so a report may be late or
 * skip states: it counts when the table leads from the known state to it by any number of steps, else it is old news.
 */
export function advanceToolCall(known: ToolCallState | undefined, reported: ToolCallState): ToolCallState {
  if (known === undefined) return reported;
  return isReachable(known, reported) ? reported : known;
}

function isReachable(from: ToolCallState, to: ToolCallState): boolean {
  return toolCallTransitions[from].some((next) => next === to || isReachable(next, to));
}
