import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { intermediateToolCallStates, toolCallTransitions } from '@lemniscate/shared/tool-call/state.ts';
import type { ToolCallState } from '@lemniscate/shared/tool-call/state.ts';
import { checkTransition } from '@lemniscate/shared/transition-table.ts';
import { cut } from '../text-stream.ts';

type ToolCallEvent = Extract<ServerEvent, { type: 'tool_call' }>;
type Facts = Omit<Partial<ToolCallEvent>, 'type' | 'callId' | 'turn' | 'tool' | 'state'>;

/** One tool call on its way through the six states; each step is an event. */
export interface ToolCall {
  readonly callId: string;
  readonly turn: number;
  readonly tool: string;
  readonly reported?: true;
  state(): ToolCallState;
  /** @throws CodedError `transition_refused` */
  become(next: ToolCallState, facts?: Facts): void;
  /** Shows what it is about as far as that has arrived; only while it is being written. */
  show(title: string): void;
  /** To `canceled` if the call has not ended; does nothing otherwise. */
  cancel(message: string): void;
}

/**
 * Begins in `generating`, which is told; or, after a pause, where it was, which was told before.
 */
export function createToolCall(
  emit: (event: ToolCallEvent) => void,
  identity: {
    readonly callId: string;
    readonly turn: number;
    readonly tool: string;
    /** The call is a program's own in the sandbox; see `PermittedCall`. */
    readonly reported?: true;
  },
  known?: ToolCallState,
): ToolCall {
  let state: ToolCallState = known ?? 'generating';
  const tell = (facts: Facts) => emit({ type: 'tool_call', ...identity, state, ...bounded(facts) });
  if (known === undefined) tell({});

  function become(next: ToolCallState, facts: Facts = {}): void {
    state = checkTransition(toolCallTransitions, state, next, `tool call ${identity.callId}`);
    tell(facts);
  }

  return {
    ...identity,
    state: () => state,
    become,
    show: (title) => {
      if (state === 'generating') tell({ title });
    },
    cancel: (message) => {
      if (intermediateToolCallStates.includes(state)) become('canceled', { message });
    },
  };
}

const textBound = 4096;

function bounded(facts: Facts): Facts {
  const texts = Object.fromEntries(
    (['title', 'message', 'preview'] as const).flatMap((name) => {
      const text = facts[name];
      return text === undefined ? [] : [[name, cut(text, textBound).toWellFormed()]];
    }),
  );
  return { ...facts, ...texts };
}
