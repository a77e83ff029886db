import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  accountLinkListSchema,
  accountLinkSchema,
  changeHookSchema,
  createdHookSchema,
  createHookSchema,
  hookIdSchema,
  hookListSchema,
  hookViewSchema,
  tookWebhookSchema,
} from '@lemniscate/shared/api/trigger.ts';
import { linkAccount, listLinks, unlinkAccount } from '../application/triggers/account-links.ts';
import type { LinkDeps } from '../application/triggers/account-links.ts';
import {
  changeHook,
  createHook,
  findHook,
  listHooks,
  removeHook,
  toHookView,
} from '../application/triggers/hooks.ts';
import type { HookDeps } from '../application/triggers/hooks.ts';
import { takeWebhook } from '../application/triggers/take-webhook.ts';
import type { WebhookDeps } from '../application/triggers/take-webhook.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

const hookParams = z.object({ hook: hookIdSchema });
/** GitHub sends up to 25 MiB; what is larger than this is a push of thousands of commits, which starts nothing here. */
const webhookBodyLimit = 2 * 1024 * 1024;

export type HookRouteDeps = HookDeps & LinkDeps & WebhookDeps & { readonly publicUrl: () => URL };

/** Public listener: where other systems send to, and whose their accounts are. */
export function registerHookRoutes(app: App, deps: HookRouteDeps): void {
  app.get('/v1/hooks', { schema: { response: { 200: hookListSchema } } }, async (request) => ({
    hooks: (await listHooks(deps.database, personOf(request))).map((row) =>
      toHookView(row, deps.publicUrl()),
    ),
  }));

  app.post(
    '/v1/hooks',
    { schema: { body: createHookSchema, response: { 201: createdHookSchema } } },
    async (request, reply) => {
      const { hook, secret } = await createHook(deps, personOf(request), request.body);
      void reply.header('etag', etagOf(hook.version));
      return reply.code(201).send({ ...toHookView(hook, deps.publicUrl()), secret });
    },
  );

  app.get(
    '/v1/hooks/:hook',
    { schema: { params: hookParams, response: { 200: hookViewSchema } } },
    async (request, reply) => {
      const row = await findHook(deps.database, personOf(request), request.params.hook);
      void reply.header('etag', etagOf(row.version));
      return toHookView(row, deps.publicUrl());
    },
  );

  app.put(
    '/v1/hooks/:hook',
    { schema: { params: hookParams, body: changeHookSchema, response: { 200: hookViewSchema } } },
    async (request, reply) => {
      const seen = readIfMatch(request, 'hook');
      const change = { ...request.body, seen };
      const row = await changeHook(deps, personOf(request), request.params.hook, change);
      void reply.header('etag', etagOf(row.version));
      return toHookView(row, deps.publicUrl());
    },
  );

  app.delete('/v1/hooks/:hook', { schema: { params: hookParams } }, async (request, reply) => {
    await removeHook(deps, personOf(request), request.params.hook, readIfMatch(request, 'hook'));
    return reply.code(204).send();
  });
  registerLinkRoutes(app, deps);
  registerReceiver(app, deps);
}

function registerLinkRoutes(app: App, deps: HookRouteDeps): void {
  app.get('/v1/account-links', { schema: { response: { 200: accountLinkListSchema } } }, async () => ({
    links: await listLinks(deps.database),
  }));

  app.put('/v1/account-links', { schema: { body: accountLinkSchema } }, async (request, reply) => {
    const seen = readIfMatch(request, 'link');
    const version = await linkAccount(deps, personOf(request), request.body, seen);
    void reply.header('etag', etagOf(version));
    return reply.code(204).send();
  });

  app.delete(
    '/v1/account-links',
    { schema: { querystring: accountLinkSchema.omit({ subject: true }) } },
    async (request, reply) => {
      await unlinkAccount(deps, personOf(request), request.query, readIfMatch(request, 'link'));
      return reply.code(204).send();
    },
  );
}

/** The bytes as they came: they are what is signed. */
const bytes = new WeakMap<object, Buffer>();

function headersOf(request: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}

/** In a scope of its own: nothing of a body is parsed before its signature was checked. */
function registerReceiver(app: App, deps: WebhookDeps): void {
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      bytes.set(request, body as Buffer);
      done(null, null);
    });
    scope.post(
      '/v1/hooks/:hook',
      {
        bodyLimit: webhookBodyLimit,
        schema: { params: hookParams, response: { 200: tookWebhookSchema } },
      },
      async (request) => {
        const body = bytes.get(request) ?? Buffer.alloc(0);
        const delivery = { headers: headersOf(request), body };
        const answer = await takeWebhook(deps, request.params.hook, delivery);
        return answer.state === 'challenge' ? { state: answer.state, ...answer.challenge } : answer;
      },
    );
  });
}
