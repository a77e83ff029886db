import { z } from 'zod';

/**
 * `POST /internal/sessions/:id/attempts/:attempt/messages`: a session that has answered asks for its person's next
 * message. `after` is the number of the last one that the attempt has, 0 for none: a repeat, also of a later attempt,
 * gets the same message. Held up to `waitMs`.
 */
export const nextMessageRequestSchema = z.object({
  after: z.int().min(0).max(1_000_000),
  waitMs: z.int().min(0).max(30_000),
});
export type NextMessageRequest = z.infer<typeof nextMessageRequestSchema>;

export const nextMessageAnswerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('message'), number: z.int(), text: z.string() }),
  z.object({ kind: z.literal('waiting') }),
  /** The person has finished it, nobody has spoken for long, or it has to stop for the reason. */
  z.object({ kind: z.literal('end'), reason: z.string() }),
]);
export type NextMessageAnswer = z.infer<typeof nextMessageAnswerSchema>;
