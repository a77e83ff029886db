import { sendMessageSchema, sentMessageSchema } from '@lemniscate/shared/api/message.ts';
import {
  nextMessageAnswerSchema,
  nextMessageRequestSchema,
} from '@lemniscate/shared/protocol/next-message.ts';
import { awaitMessage } from '../application/messages/await-message.ts';
import type { AwaitMessageDeps } from '../application/messages/await-message.ts';
import type { MessageRow } from '../application/messages/message-row.ts';
import { interruptTurn } from '../application/messages/interrupt-turn.ts';
import type { InterruptDeps } from '../application/messages/interrupt-turn.ts';
import { finishConversation, sendMessage } from '../application/messages/send-message.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { getSession } from '../application/sessions/read-sessions.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf, hangUpOf } from './attempt-params.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';

/** Public listener: what a person says to a session after its instruction. */
export function registerMessageRoutes(app: App, deps: InterruptDeps): void {
  app.post(
    '/v1/sessions/:id/messages',
    { schema: { params: sessionParams, body: sendMessageSchema, response: { 202: sentMessageSchema } } },
    async (request, reply) => {
      const { text } = request.body;
      return reply.code(202).send(view(await sendMessage(deps, personOf(request), request.params.id, text)));
    },
  );

  app.post(
    '/v1/sessions/:id/interrupt',
    { schema: { params: sessionParams, response: { 202: sessionViewSchema } } },
    async (request, reply) => {
      await interruptTurn(deps, personOf(request), request.params.id);
      return reply.code(202).send(await getSession(deps.database, request.params.id));
    },
  );

  app.post(
    '/v1/sessions/:id/finish',
    { schema: { params: sessionParams, response: { 202: sentMessageSchema } } },
    async (request, reply) =>
      reply.code(202).send(view(await finishConversation(deps, personOf(request), request.params.id))),
  );
}

function view({ session_id: sessionId, number, state }: MessageRow) {
  return { sessionId, number, state };
}

/** Internal listener: a session that has answered asks what comes next. */
export function registerNextMessageRoutes(app: App, deps: AwaitMessageDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/messages',
    {
      schema: {
        params: attemptParams,
        body: nextMessageRequestSchema,
        response: { 200: nextMessageAnswerSchema },
      },
    },
    (request, reply) => awaitMessage(deps, claimOf(request, request.params), request.body, hangUpOf(reply)),
  );
}
