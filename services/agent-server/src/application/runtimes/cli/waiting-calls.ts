import type { ToolCall } from '../../tool-calls/tool-call.ts';

/** A call that waits for a decision while no program runs that could be told. */
export interface WaitingCall {
  readonly call: ToolCall;
  readonly argumentsDigest: string;
  /** What it wants, for the program that has to ask for it again. */
  readonly about: string;
}

/**
 * Calls that waited for a person when their program was put away. A program forgets a request that was open when it
 * ended and its model has to make it again, under another id; asked for with the same arguments it is the same call,
 * and the decision that was taken meanwhile counts.
 */
export interface WaitingCalls {
  keep(waiting: WaitingCall): void;
  /** Takes the one that asks for exactly this; null where none does. */
  take(tool: string, argumentsDigest: string): ToolCall | null;
  /** Whether a request for this tool, of which nothing more is known, may turn out to be one of them. */
  mayBe(tool: string): boolean;
  all(): readonly WaitingCall[];
  cancelAll(message: string): void;
}

export function createWaitingCalls(known: readonly WaitingCall[] = []): WaitingCalls {
  let waiting = [...known];
  return {
    keep: (one) => void waiting.push(one),
    take: (tool, argumentsDigest) => {
      const found = waiting.find((one) => one.call.tool === tool && one.argumentsDigest === argumentsDigest);
      if (found === undefined) return null;
      waiting = waiting.filter((one) => one !== found);
      return found.call;
    },
    mayBe: (tool) => waiting.some(({ call }) => call.tool === tool),
    all: () => waiting,
    cancelAll: (message) => {
      for (const { call } of waiting) call.cancel(message);
      waiting = [];
    },
  };
}
