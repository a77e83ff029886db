import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { endReasons } from '@lemniscate/shared/session/end.ts';
import type { EventSink } from '../../event-sink.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import { createCallIds } from '../native/call-ids.ts';
import type { CallIds } from '../native/call-ids.ts';
import type { RuntimeEnd } from '../runtime.ts';
import { createWaitingCalls } from './waiting-calls.ts';
import type { WaitingCalls } from './waiting-calls.ts';

/**
 * What we know of a session whose loop a program drives. What was said is in the program's own files, which lie in the
 * sandbox' home and travel with it.
 */
export interface CliTalk {
  readonly callIds: CallIds;
  /** Calls that wait for a person while no program runs. */
  readonly waiting: WaitingCalls;
  turn: number;
  /** Number of the person's last message that was taken, 0 for the instruction. */
  messages: number;
  /** The last that the person said. */
  said: string;
  /** Calls that a pause has stopped, of which the program has to be told. */
  stopped: string[];
  /** A person has interrupted once: from then on the session stays for messages. */
  interrupted: boolean;
  /** The agent has answered; the person's next message is awaited. */
  answered: RuntimeEnd | null;
}

export function beginTalk(instruction: string): CliTalk {
  return {
    callIds: createCallIds(),
    waiting: createWaitingCalls(),
    turn: 0,
    messages: 0,
    said: instruction,
    stopped: [],
    interrupted: false,
    answered: null,
  };
}

const savedSchema = z.object({
  runtime: z.enum(['claude-code', 'codex']),
  version: z.literal(1),
  usedCallIds: z.array(z.string()),
  waiting: z.array(
    z.object({
      callId: z.string(),
      turn: z.int(),
      tool: z.string(),
      reported: z.boolean(),
      argumentsDigest: z.string(),
      about: z.string(),
    }),
  ),
  turn: z.int().min(0),
  messages: z.int().min(0),
  said: z.string(),
  stopped: z.array(z.string()),
  interrupted: z.boolean(),
  answered: z.object({ reason: z.enum(endReasons), message: z.string() }).nullable(),
});

/** Runtimes whose loop is a program in the sandbox. */
export type CliRuntimeName = z.infer<typeof savedSchema>['runtime'];

/** The talk as a checkpoint keeps it. */
export function saveTalk(runtime: CliRuntimeName, talk: CliTalk): JsonValue {
  const { callIds, waiting, ...state } = talk;
  const saved: z.input<typeof savedSchema> = {
    runtime,
    version: 1,
    ...state,
    usedCallIds: callIds.used(),
    waiting: waiting.all().map(({ call, argumentsDigest, about }) => ({
      callId: call.callId,
      turn: call.turn,
      tool: call.tool,
      reported: call.reported === true,
      argumentsDigest,
      about,
    })),
  };
  return saved;
}

/**
 * The talk as it was saved. Calls that wait are where they were, without being told again.
 * @throws CodedError `checkpoint_unreadable`
 */
export function restoreTalk(runtime: CliRuntimeName, saved: JsonValue, sink: EventSink): CliTalk {
  const parsed = savedSchema.safeParse(saved);
  if (!parsed.success || parsed.data.runtime !== runtime)
    throw new CodedError(
      'checkpoint_unreadable',
      `What the checkpoint says of ${runtime} cannot be read: ${parsed.success ? `it is of ${parsed.data.runtime}` : z.prettifyError(parsed.error)}`,
    );
  const { usedCallIds, waiting, runtime: _, version: __, ...state } = parsed.data;
  return {
    ...state,
    callIds: createCallIds(usedCallIds),
    waiting: createWaitingCalls(
      waiting.map(({ argumentsDigest, about, reported, ...identity }) => ({
        argumentsDigest,
        about,
        call: createToolCall(
          (event) => void sink.emit(event),
          { ...identity, ...(reported ? { reported } : {}) },
          'generated',
        ),
      })),
    ),
  };
}
