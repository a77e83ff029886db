import { z } from 'zod';
import { attemptSchema } from './identity.ts';
import { serverCommandSchema, sessionOrderSchema } from './session-order.ts';

/**
 * What a dispatcher has to tell an agent server that it cannot call, such as a workstation behind its network's walls:
 * the server fetches it. Each kind is what an address of a server that can be called takes.
 */
export const lineRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('take'), id: z.string(), order: sessionOrderSchema }),
  z.object({ kind: z.literal('remove'), id: z.string(), sessionId: z.string(), attempt: attemptSchema }),
  z.object({ kind: z.literal('command'), id: z.string(), command: serverCommandSchema }),
]);
export type LineRequest = z.infer<typeof lineRequestSchema>;

type WithoutId<Request> = Request extends unknown ? Omit<Request, 'id'> : never;
/** A request before it has its id. */
export type LineMessage = WithoutId<LineRequest>;

/** Longest time that a server is kept waiting for a request, in milliseconds: well below what idle proxies allow. */
export const maxLineWaitMs = 25_000;

/** Body of `POST /internal/servers/line`. */
export const nextRequestsSchema = z.strictObject({ waitMs: z.int().min(0).max(maxLineWaitMs) });
/** Its answer: oldest first, none when nothing came within the time. */
export const nextRequestsAnswerSchema = z.object({ requests: z.array(lineRequestSchema) });

/** Body of `POST /internal/servers/line/answers`: the status that an address would have answered, and its problem. */
export const lineAnswerSchema = z.strictObject({
  id: z.string().min(1).max(64),
  status: z.int().min(200).max(599),
  problem: z.record(z.string(), z.unknown()).optional(),
});
export type LineAnswer = z.infer<typeof lineAnswerSchema>;
