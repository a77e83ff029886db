import { z } from 'zod';
import { messageStates } from '../api/message.ts';
import { endReasons, pauseReasons } from '../session/end.ts';
import { sessionStates } from '../session/state.ts';
import { toolCallStates } from '../tool-call/state.ts';
import { checkpointCauses } from './checkpoint.ts';
import { serverCommandSchema } from './session-order.ts';
import { extendableCauses, extensionStates } from '../api/extension.ts';
import { deciders } from './permit.ts';

/** Why a connection was not made. */
export const egressRefusals = [
  'malformed',
  'not_listed',
  'unresolved',
  'private_address',
  'unreachable',
  'too_many',
] as const;

const text = z.string().max(256 * 1024);
/** Longest text of a change that goes along with its tool call, in characters. */
export const maxShownChange = 8_192;
const tokens = z.int().min(0).max(1_000_000_000_000);

/** What a tool call has become. Arguments and results are content: they live in the session log, never in the audit log. */
const toolCallEvent = z.object({
  type: z.literal('tool_call'),
  callId: z.string().max(128),
  turn: z.int().min(1),
  tool: z.string().max(128),
  state: z.enum(toolCallStates),
  /** One line for a person: the command, the path. Present from `generated` on. */
  title: z.string().max(4096).optional(),
  /** Of an edited or written file, with `generated`, where both texts are short: what shall stand instead of what. */
  path: z.string().max(4096).optional(),
  oldText: z.string().max(maxShownChange).optional(),
  newText: z.string().max(maxShownChange).optional(),
  decidedBy: z.enum(deciders).optional(),
  /** A program in the sandbox ran it by itself and reported it; see `PermitRequest.reported`. */
  reported: z.literal(true).optional(),
  /** From `done`, `errored`, `canceled` on. */
  exitCode: z.int().nullable().optional(),
  durationMs: z.number().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  outputBytes: z.int().min(0).optional(),
  droppedBytes: z.int().min(0).optional(),
  /** Why it errored or was canceled. */
  message: z.string().max(4096).optional(),
  /** Start of what the model was told, for the live view. */
  preview: z.string().max(4096).optional(),
});

/** Facts and output that an agent server reports, in the order of their sequence. */
export const serverEventSchema = z.discriminatedUnion('type', [
  /** The working copy is laid and the loop begins: `starting → running`. */
  z.object({
    type: z.literal('running'),
    driver: z.string(),
    warm: z.boolean(),
    timingsMs: z.record(z.string(), z.number()),
  }),
  z.object({
    type: z.literal('phase'),
    phase: z.enum(['booting', 'preparing', 'working', 'waiting', 'pausing', 'finishing']),
  }),
  z.object({ type: z.literal('turn'), turn: z.int().min(1) }),
  /** The conversation has become too long and is cut short: so many messages are replaced by notes. */
  z.object({ type: z.literal('compaction'), turn: z.int().min(1), messages: z.int().min(1) }),
  /** A fragment of what the model says. */
  z.object({ type: z.literal('text'), turn: z.int().min(1), text }),
  toolCallEvent,
  z.object({ type: z.literal('output'), callId: z.string(), stream: z.enum(['stdout', 'stderr']), text }),
  /**
   * The sandbox has reached, or tried to reach, the outside, or a connection has come to its end. `host` is what it wrote;
   * empty where that was no host.
   */
  z.object({
    type: z.literal('egress'),
    host: z.string().max(253),
    port: z.int().min(0).max(99_999),
    outcome: z.enum(['connected', 'refused', 'closed']),
    /** Of one that was refused: one of `egressRefusals`, or what a server of another version says. */
    why: z.string().max(64).optional(),
    /** Of one that was closed: bytes that the sandbox sent and got through it, and how long it was open. */
    sentBytes: z.int().min(0).optional(),
    receivedBytes: z.int().min(0).optional(),
    durationMs: z.int().min(0).optional(),
  }),
  z.object({ type: z.literal('notice'), text: z.string().max(4096) }),
  /** What a program in the sandbox counted in this attempt so far: a claim, beside what the gateway meters. */
  z.object({
    type: z.literal('reported_usage'),
    inputTokens: tokens,
    outputTokens: tokens,
    cacheReadTokens: tokens,
    cacheWriteTokens: tokens,
    costUsd: z
      .string()
      .regex(/^\d{1,12}(\.\d{1,12})?$/)
      .nullable(),
  }),
]);
export type ServerEvent = z.infer<typeof serverEventSchema>;

/** Events that the dispatcher adds itself. */
export const dispatcherEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('state'),
    state: z.enum(sessionStates),
    phase: z.string(),
    reason: z.enum([...endReasons, ...pauseReasons]).nullable(),
    attempt: z.int().min(0),
    server: z.string().nullable(),
    message: z.string().optional(),
  }),
  z.object({
    type: z.literal('approval'),
    approvalId: z.string(),
    callId: z.string(),
    state: z.enum(['waiting', 'approved', 'rejected', 'expired', 'withdrawn']),
    tool: z.string(),
    title: z.string(),
    argumentsDigest: z.string(),
    reasons: z.array(z.string()),
    /** Where a sub-agent asks: its own session, in which the answer is to be given. */
    sessionId: z.string().optional(),
    /** Where several people have to approve: how many, and how many have. */
    people: z.int().optional(),
    approvals: z.int().optional(),
  }),
  /** A sub-agent's session was opened, or its report was taken. */
  z.object({
    type: z.literal('delegation'),
    sessionId: z.string(),
    callId: z.string(),
    state: z.enum(['opened', 'reported']),
  }),
  /** The budget is used up and the person is asked, or has answered. */
  z.object({
    type: z.literal('extension'),
    number: z.int(),
    state: z.enum(extensionStates),
    cause: z.enum(extendableCauses),
    used: z.object({ actions: z.int(), minutes: z.number() }),
    grants: z.object({ actions: z.int(), minutes: z.number(), left: z.int() }),
  }),
  /** What the person says after the instruction, or that the session waits for it. */
  z.object({
    type: z.literal('message'),
    number: z.int(),
    state: z.enum(messageStates),
    text: z.string().optional(),
  }),
  /** Session totals after a model exchange. */
  z.object({
    type: z.literal('usage'),
    model: z.string(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    cacheReadTokens: z.int(),
    cacheWriteTokens: z.int(),
    totalCostUsd: z.string(),
    priced: z.boolean(),
  }),
  /** The session can go on from here, whatever becomes of its server. */
  z.object({
    type: z.literal('checkpoint'),
    number: z.int(),
    cause: z.enum(checkpointCauses),
    bytes: z.int(),
  }),
  z.object({
    type: z.literal('diff'),
    state: z.enum(['offered', 'accepted', 'rejected', 'discarded']),
    files: z.int(),
    insertions: z.int(),
    deletions: z.int(),
    /** Where it was accepted in part: how many of the files. */
    acceptedFiles: z.int().optional(),
    /** Where several people have to accept it: how many, and how many have. */
    people: z.int().optional(),
    approvals: z.int().optional(),
  }),
  /** Positions that can no longer be shown; never silence. */
  z.object({ type: z.literal('gap'), from: z.int(), to: z.int(), reason: z.string() }),
]);
export type DispatcherEvent = z.infer<typeof dispatcherEventSchema>;

export type SessionEvent = ServerEvent | DispatcherEvent;

/** One event as readers see it: `position` counts from 1 without holes within a session and is the SSE id. */
export const positionedEventSchema = z
  .object({
    position: z.int().min(1),
    at: z.string(),
    attempt: z.int().min(0),
    event: z.union([serverEventSchema, dispatcherEventSchema]),
  })
  .meta({ id: 'PositionedEvent' });
export type PositionedEvent = z.infer<typeof positionedEventSchema>;

/**
 * `POST /internal/sessions/:id/attempts/:attempt/events`. `firstSeq` numbers the first event of the batch within the
 * attempt, from 1. What was acknowledged before is skipped; a batch that leaves a hole is refused (`conflict`).
 */
export const eventBatchSchema = z.object({
  firstSeq: z.int().min(1),
  events: z
    .array(z.object({ at: z.string(), event: serverEventSchema }))
    .min(1)
    .max(1000),
});

export const eventBatchAnswerSchema = z.object({
  /** Everything up to here is committed; the journal may forget it. */
  acknowledgedSeq: z.int().min(0),
  commands: z.array(serverCommandSchema),
  /** A person wants the session to be paused. What pauses since it waits is told by heartbeats alone. */
  pause: z.boolean().default(false),
});
export type EventBatchAnswer = z.infer<typeof eventBatchAnswerSchema>;
