import { z } from 'zod';
import {
  createSessionSchema,
  maxWaitSeconds,
  sessionPageSchema,
  sessionViewSchema,
} from '@lemniscate/shared/api/session.ts';
import { sessionStates } from '@lemniscate/shared/session/state.ts';
import { createSession } from '../application/sessions/create-session.ts';
import type { CreateSessionDeps } from '../application/sessions/create-session.ts';
import { getSession, listSessions } from '../application/sessions/read-sessions.ts';
import { stopSession } from '../application/sessions/stop-session.ts';
import type { StopSessionDeps } from '../application/sessions/stop-session.ts';
import { waitForEnd } from '../application/sessions/wait-for-end.ts';
import type { WaitDeps } from '../application/sessions/wait-for-end.ts';
import { projectsSeenBy } from '../application/identity.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { traceOf } from './trace-requests.ts';

export type SessionRouteDeps = CreateSessionDeps & StopSessionDeps & WaitDeps;

/** Path parameter of every route below a session. */
export const sessionParams = z.object({ id: z.string().regex(/^[\w-]{1,64}$/, 'must be a session id') });

const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable characters')
    .optional(),
});

/** `POST /v1/sessions` and what one asks of sessions afterwards. */
export function registerSessionRoutes(app: App, deps: SessionRouteDeps): void {
  app.post(
    '/v1/sessions',
    {
      schema: {
        body: createSessionSchema,
        headers: idempotencyHeaders,
        response: { 200: sessionViewSchema, 202: sessionViewSchema },
      },
    },
    async (request, reply) => {
      const person = personOf(request);
      const key = request.headers['idempotency-key'] ?? null;
      const { id, view } = await createSession(deps, person, request.body, key, undefined, traceOf(request));
      if (view !== null && !request.body.wait) return reply.code(202).send(view);
      const gone = new AbortController();
      reply.raw.on('close', () => gone.abort());
      const ended = request.body.wait && (await waitForEnd(deps, id, maxWaitSeconds * 1_000, gone.signal));
      return reply.code(ended ? 200 : 202).send(await getSession(deps.database, id));
    },
  );

  app.get(
    '/v1/sessions',
    {
      schema: {
        querystring: z.object({
          cursor: z.string().max(128).optional(),
          limit: z.coerce.number().int().min(1).max(100).default(20),
          state: z.enum(sessionStates).optional(),
        }),
        response: { 200: sessionPageSchema },
      },
    },
    (request) =>
      listSessions(deps.database, { ...request.query, projects: projectsSeenBy(personOf(request)) }),
  );

  app.get(
    '/v1/sessions/:id',
    { schema: { params: sessionParams, response: { 200: sessionViewSchema } } },
    (request) => getSession(deps.database, request.params.id),
  );

  app.post(
    '/v1/sessions/:id/stop',
    { schema: { params: sessionParams, response: { 200: sessionViewSchema } } },
    async (request) => {
      await stopSession(deps, personOf(request), request.params.id);
      return getSession(deps.database, request.params.id);
    },
  );
}
