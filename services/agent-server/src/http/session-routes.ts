import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { attemptSchema } from '@lemniscate/shared/protocol/identity.ts';
import { serverCommandSchema, sessionOrderSchema } from '@lemniscate/shared/protocol/session-order.ts';
import type { RouteDeps } from './route-deps.ts';

// The id becomes a folder's name.
const params = z.object({ id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/, 'must be a session id') });

/** `PUT /sessions/:id`, `DELETE /sessions/:id?attempt=N`, `POST /sessions/:id/commands`. All are idempotent. */
export function registerSessionRoutes(app: FastifyInstance, { desk }: RouteDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();

  typed.put('/sessions/:id', { schema: { params, body: sessionOrderSchema } }, async (request, reply) => {
    sameSession(request.params.id, request.body.sessionId);
    desk.take(request.body);
    return reply.code(202).send({ sessionId: request.body.sessionId, attempt: request.body.attempt });
  });

  const query = z.object({ attempt: z.coerce.number().pipe(attemptSchema) });
  typed.delete('/sessions/:id', { schema: { params, querystring: query } }, async (request, reply) => {
    desk.remove({ sessionId: request.params.id, attempt: request.query.attempt });
    return reply.code(204).send();
  });

  typed.post(
    '/sessions/:id/commands',
    { schema: { params, body: serverCommandSchema } },
    async (request, reply) => {
      sameSession(request.params.id, request.body.sessionId);
      desk.command(request.body);
      return reply.code(202).send({});
    },
  );
}

function sameSession(inPath: string, inBody: string): void {
  if (inPath === inBody) return;
  throw new CodedError(
    'request_invalid',
    `The address names session ${inPath}, the body ${JSON.stringify(inBody)}.`,
  );
}
