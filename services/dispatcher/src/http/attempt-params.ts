import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AttemptClaim } from '../application/events/live-attempt.ts';
import { serverOf } from './identity.ts';

/** Path parameters of every internal route below an attempt. */
export const attemptParams = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/, 'must be a session id'),
  attempt: z.coerce.number().int().min(1).max(1_000_000),
});

/** Whose attempt the caller says it is: numbers from the path, the server from its certificate. */
export function claimOf(request: FastifyRequest, params: z.infer<typeof attemptParams>): AttemptClaim {
  return { sessionId: params.id, attempt: params.attempt, serverId: serverOf(request).serverId };
}

/** Aborts when the caller hangs up before it was answered. */
export function hangUpOf(reply: { readonly raw: NodeJS.EventEmitter }): AbortSignal {
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  return gone.signal;
}
