import { z } from 'zod';
import {
  changeTargetSchema,
  createdTargetSchema,
  createTargetSchema,
  messageIdSchema,
  messagePageSchema,
  queuedMessageSchema,
  targetIdSchema,
  targetListSchema,
  targetViewSchema,
} from '@lemniscate/shared/api/notify.ts';
import { listMessages, sendAgain, sendTest } from '../application/notify/messages.ts';
import {
  changeTarget,
  createTarget,
  findTarget,
  listTargets,
  removeTarget,
  toTargetView,
} from '../application/notify/targets.ts';
import type { TargetDeps } from '../application/notify/targets.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { pageQuery } from './object-routes.ts';
import { etagOf, readIfMatch } from './versions.ts';

const targetParams = z.object({ target: targetIdSchema });
const messageParams = targetParams.extend({ message: messageIdSchema });

/** Public listener: who is told of what happens, and the log of what they were told. */
export function registerNotifyRoutes(app: App, deps: TargetDeps): void {
  app.get('/v1/notify-targets', { schema: { response: { 200: targetListSchema } } }, async (request) => ({
    targets: (await listTargets(deps.database, personOf(request))).map(toTargetView),
  }));

  app.post(
    '/v1/notify-targets',
    { schema: { body: createTargetSchema, response: { 201: createdTargetSchema } } },
    async (request, reply) => {
      const { target, secret } = await createTarget(deps, personOf(request), request.body);
      void reply.header('etag', etagOf(target.version));
      return reply.code(201).send({ ...toTargetView(target), secret });
    },
  );

  app.get(
    '/v1/notify-targets/:target',
    { schema: { params: targetParams, response: { 200: targetViewSchema } } },
    async (request, reply) => {
      const row = await findTarget(deps.database, personOf(request), request.params.target);
      void reply.header('etag', etagOf(row.version));
      return toTargetView(row);
    },
  );

  app.put(
    '/v1/notify-targets/:target',
    { schema: { params: targetParams, body: changeTargetSchema, response: { 200: targetViewSchema } } },
    async (request, reply) => {
      const change = { ...request.body, seen: readIfMatch(request, 'target') };
      const row = await changeTarget(deps, personOf(request), request.params.target, change);
      void reply.header('etag', etagOf(row.version));
      return toTargetView(row);
    },
  );

  app.delete('/v1/notify-targets/:target', { schema: { params: targetParams } }, async (request, reply) => {
    const seen = readIfMatch(request, 'target');
    await removeTarget(deps, personOf(request), request.params.target, seen);
    return reply.code(204).send();
  });

  app.post(
    '/v1/notify-targets/:target/test',
    { schema: { params: targetParams, response: { 202: queuedMessageSchema } } },
    async (request, reply) => {
      const message = await sendTest(deps, personOf(request), request.params.target);
      return reply.code(202).send({ message });
    },
  );

  app.get(
    '/v1/notify-targets/:target/messages',
    {
      schema: {
        params: targetParams,
        querystring: pageQuery.extend({ state: z.enum(['pending', 'delivered', 'failed']).optional() }),
        response: { 200: messagePageSchema },
      },
    },
    (request) => listMessages(deps.database, personOf(request), request.params.target, request.query),
  );

  app.post(
    '/v1/notify-targets/:target/messages/:message/resend',
    { schema: { params: messageParams, response: { 202: queuedMessageSchema } } },
    async (request, reply) => {
      const { target, message } = request.params;
      await sendAgain(deps, personOf(request), target, message);
      return reply.code(202).send({ message });
    },
  );
}
