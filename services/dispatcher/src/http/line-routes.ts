import { z } from 'zod';
import {
  lineAnswerSchema,
  nextRequestsAnswerSchema,
  nextRequestsSchema,
} from '@lemniscate/shared/protocol/server-line.ts';
import type { ServerLines } from '../application/ports/server-lines.ts';
import type { App } from './app.ts';
import { hangUpOf } from './attempt-params.ts';
import { serverOf } from './identity.ts';

export interface LineRouteDeps {
  readonly lines: ServerLines;
}

/** Internal listener: servers that cannot be called fetch what they are asked, and answer. */
export function registerLineRoutes(app: App, { lines }: LineRouteDeps): void {
  app.post(
    '/internal/servers/line',
    { schema: { body: nextRequestsSchema, response: { 200: nextRequestsAnswerSchema } } },
    async (request, reply) => {
      const { serverId } = serverOf(request);
      return { requests: [...(await lines.next(serverId, request.body.waitMs, hangUpOf(reply)))] };
    },
  );

  app.post(
    '/internal/servers/line/answers',
    { schema: { body: lineAnswerSchema, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await lines.answer(serverOf(request).serverId, request.body);
      return reply.code(204).send();
    },
  );
}
