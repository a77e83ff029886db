import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';
import { sha256Schema } from './identity.ts';

/** Who let a tool run. Never absent, no third value. */
export const deciders = ['human', 'automation'] as const;

/**
 * `POST /internal/sessions/:id/attempts/:attempt/permits`: a tool call in `generated` asks to become `calling`.
 * Idempotent by (session, attempt, callId): a repeat gets the same answer. The dispatcher may hold the request up to
 * `waitMs` while a person decides, then answers `waiting` and the server asks again.
 */
export const permitRequestSchema = z.object({
  callId: z.string().min(1).max(128),
  turn: z.int().min(1),
  tool: z.string().min(1).max(128),
  arguments: jsonObjectSchema,
  /** sha256 of the canonical JSON of `arguments`; the dispatcher computes its own and refuses another. */
  argumentsDigest: sha256Schema,
  waitMs: z.int().min(0).max(30_000),
  /** The call is a program's own in the sandbox: what it says that it will do is a claim, and recorded as one. */
  reported: z.boolean().optional(),
});
export type PermitRequest = z.infer<typeof permitRequestSchema>;

export const permitAnswerSchema = z.discriminatedUnion('verdict', [
  /** Run it. */
  z.object({
    verdict: z.literal('go'),
    decidedBy: z.enum(deciders),
    reasons: z.array(z.string()),
    /** The call was carried out by the dispatcher: what the model is told. Nothing is to be run. */
    result: z.object({ isError: z.boolean(), text: z.string().max(256 * 1024) }).optional(),
  }),
  /** The policy forbids it; `state` is what the call becomes on this surface. The loop goes on. */
  z.object({
    verdict: z.literal('forbidden'),
    decidedBy: z.literal('automation'),
    state: z.enum(['canceled', 'errored']),
    message: z.string(),
    reasons: z.array(z.string()),
  }),
  /** A person (or an expiry, then by automation) said no. `endsLoop` follows continueAfterToolRejection. */
  z.object({
    verdict: z.literal('rejected'),
    decidedBy: z.enum(deciders),
    message: z.string(),
    endsLoop: z.boolean(),
    reason: z.enum(['tool_rejected', 'approval_expired']),
  }),
  /** Nobody has decided yet. */
  z.object({ verdict: z.literal('waiting'), approvalId: z.string() }),
  /** The session has to end for this reason; nothing more will be permitted. */
  z.object({ verdict: z.literal('stop'), reason: z.string(), message: z.string() }),
]);
export type PermitAnswer = z.infer<typeof permitAnswerSchema>;
