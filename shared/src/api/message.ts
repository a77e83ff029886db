import { z } from 'zod';

/** `awaited`: the session has answered and waits; `ended`, `idled`: its person has finished it, or stayed away. */
export const messageStates = ['awaited', 'sent', 'ended', 'idled', 'withdrawn'] as const;

/** Body of `POST /v1/sessions/:id/messages`. */
export const sendMessageSchema = z.strictObject({ text: z.string().min(1).max(100_000) });
export const sentMessageSchema = z.object({
  sessionId: z.string(),
  number: z.int(),
  state: z.enum(messageStates),
});
