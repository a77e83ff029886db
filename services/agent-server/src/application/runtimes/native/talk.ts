import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { endReasons } from '@lemniscate/shared/session/end.ts';
import { toolCallStates } from '@lemniscate/shared/tool-call/state.ts';
import type { EventSink } from '../../event-sink.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import type { RuntimeEnd } from '../runtime.ts';
import { createCallIds } from './call-ids.ts';
import type { CallIds } from './call-ids.ts';
import type { ToolUse } from './message-draft.ts';
import type { TranscriptMessage } from './request.ts';
import type { ToolAnswer } from './transcript.ts';
import { userText } from './transcript.ts';

/** The requests of a turn on their way through permit and execution. */
export interface TurnUnderWay {
  readonly requests: readonly ToolUse[];
  /** Of the requests that are over, in the order asked. */
  readonly answers: ToolAnswer[];
  /** By the model's own id. */
  readonly calls: ReadonlyMap<string, ToolCall>;
}

/** Where the loop is, between any two of its steps: everything that going on from here needs. */
export interface Talk {
  readonly transcript: TranscriptMessage[];
  readonly callIds: CallIds;
  turn: number;
  /** Number of the person's last message that was taken, 0 for the instruction. */
  messages: number;
  /** Consecutive answers without a tool request that were cut or paused. */
  continuations: number;
  underWay: TurnUnderWay | null;
  /** A person has interrupted once: from then on the session stays for messages. */
  interrupted: boolean;
  /** The agent has answered; the person's next message is awaited. */
  answered: RuntimeEnd | null;
}

/** @param advice what the repository says to agents; null: nothing */
export function beginTalk(instruction: string, advice: string | null = null): Talk {
  return {
    transcript: [...(advice === null ? [] : [userText(advice)]), userText(instruction)],
    callIds: createCallIds(),
    turn: 0,
    messages: 0,
    continuations: 0,
    interrupted: false,
    underWay: null,
    answered: null,
  };
}

const savedSchema = z.object({
  runtime: z.literal('native'),
  version: z.literal(1),
  transcript: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.array(jsonObjectSchema) })),
  usedCallIds: z.array(z.string()),
  turn: z.int().min(0),
  messages: z.int().min(0),
  continuations: z.int().min(0),
  interrupted: z.boolean(),
  underWay: z
    .object({
      requests: z.array(
        z.object({
          kind: z.literal('tool_use'),
          id: z.string(),
          name: z.string(),
          argumentsText: z.string(),
          whole: z.boolean(),
        }),
      ),
      answers: z.array(z.object({ id: z.string(), isError: z.boolean(), text: z.string() })),
      calls: z.array(
        z.object({
          id: z.string(),
          callId: z.string(),
          turn: z.int(),
          tool: z.string(),
          state: z.enum(toolCallStates),
        }),
      ),
    })
    .nullable(),
  answered: z.object({ reason: z.enum(endReasons), message: z.string() }).nullable(),
});

/** The talk as a checkpoint keeps it. */
export function saveTalk(talk: Talk): JsonValue {
  const { underWay } = talk;
  const saved: z.input<typeof savedSchema> = {
    runtime: 'native',
    version: 1,
    transcript: talk.transcript.map(({ role, content }) => ({ role, content: [...content] })),
    usedCallIds: talk.callIds.used(),
    turn: talk.turn,
    messages: talk.messages,
    continuations: talk.continuations,
    interrupted: talk.interrupted,
    underWay:
      underWay === null
        ? null
        : {
            requests: [...underWay.requests],
            answers: [...underWay.answers],
            calls: [...underWay.calls].map(([id, call]) => ({
              id,
              callId: call.callId,
              turn: call.turn,
              tool: call.tool,
              state: call.state(),
            })),
          },
    answered: talk.answered,
  };
  return saved;
}

/**
 * The talk as it was saved. Calls that have not run are where they were, without being told again.
 * @throws CodedError `checkpoint_unreadable`
 */
export function restoreTalk(saved: JsonValue, sink: EventSink): Talk {
  const parsed = savedSchema.safeParse(saved);
  if (!parsed.success)
    throw new CodedError(
      'checkpoint_unreadable',
      `What the checkpoint says of the session's loop cannot be read: ${z.prettifyError(parsed.error)}`,
    );
  const { transcript, usedCallIds, underWay, ...state } = parsed.data;
  return {
    transcript: [...transcript],
    callIds: createCallIds(usedCallIds),
    turn: state.turn,
    messages: state.messages,
    continuations: state.continuations,
    interrupted: state.interrupted,
    answered: state.answered,
    underWay:
      underWay === null
        ? null
        : {
            ...underWay,
            calls: new Map(
              underWay.calls.map(({ id, state, ...identity }) => [
                id,
                createToolCall((event) => void sink.emit(event), identity, state),
              ]),
            ),
          },
  };
}
