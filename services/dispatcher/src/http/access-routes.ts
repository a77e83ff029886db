import { z } from 'zod';
import {
  createdTokenSchema,
  createTokenSchema,
  meSchema,
  projectOrEverySchema,
  roleBindingSchema,
  roleBindingsSchema,
  tokensSchema,
} from '@lemniscate/shared/api/identity.ts';
import { roles } from '@lemniscate/shared/identity/roles.ts';
import { closeLogin } from '../application/access/logins.ts';
import { bindRole, listBindings, unbindRole } from '../application/access/role-bindings.ts';
import type { BindingDeps } from '../application/access/role-bindings.ts';
import { createToken, listTokens, revokeToken } from '../application/access/service-tokens.ts';
import type { TokenDeps } from '../application/access/service-tokens.ts';
import type { App } from './app.ts';
import { forgetLoginCookie, tokenOf } from './credentials.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

export type AccessRouteDeps = BindingDeps & TokenDeps;

const tokenParams = z.object({ tokenId: z.string().regex(/^[\w-]{1,64}$/, 'must be a token id') });

/** Public listener: who one is, who may be what, and the tokens of programs. */
export function registerAccessRoutes(app: App, deps: AccessRouteDeps): void {
  app.get('/v1/me', { schema: { response: { 200: meSchema } } }, (request) => {
    const person = personOf(request);
    return {
      subject: person.subject,
      name: person.name,
      kind: person.kind,
      roles: [...(person.roles ?? [])],
      projects: Object.fromEntries(
        Object.entries(person.projects ?? {}).map(([project, held]) => [project, [...held]]),
      ),
      scopes: person.scopes === undefined ? null : [...person.scopes],
      expiresAt: person.expiresAt ?? null,
    };
  });

  app.post('/v1/logout', async (request, reply) => {
    const token = tokenOf(request);
    if (token !== null) await closeLogin(deps, token.token);
    forgetLoginCookie(reply);
    return reply.code(204).send();
  });

  app.get('/v1/role-bindings', { schema: { response: { 200: roleBindingsSchema } } }, async (request) => ({
    bindings: await listBindings(deps.database, personOf(request)),
  }));

  app.put('/v1/role-bindings', { schema: { body: roleBindingSchema } }, async (request, reply) => {
    const version = await bindRole(deps, personOf(request), request.body, readIfMatch(request, 'binding'));
    void reply.header('etag', etagOf(version));
    return reply.code(204).send();
  });

  app.delete(
    '/v1/role-bindings',
    {
      schema: {
        querystring: z.object({
          kind: z.enum(['group', 'person']),
          principal: z.string().min(1).max(256),
          role: z.enum(roles),
          project: projectOrEverySchema,
        }),
      },
    },
    async (request, reply) => {
      await unbindRole(deps, personOf(request), request.query, readIfMatch(request, 'binding'));
      return reply.code(204).send();
    },
  );

  app.get('/v1/tokens', { schema: { response: { 200: tokensSchema } } }, async (request) => ({
    tokens: await listTokens(deps.database, personOf(request)),
  }));

  app.post(
    '/v1/tokens',
    { schema: { body: createTokenSchema, response: { 201: createdTokenSchema } } },
    async (request, reply) => {
      void reply.header('cache-control', 'no-store');
      return reply.code(201).send(await createToken(deps, personOf(request), request.body));
    },
  );

  app.delete('/v1/tokens/:tokenId', { schema: { params: tokenParams } }, async (request, reply) => {
    await revokeToken(deps, personOf(request), request.params.tokenId);
    return reply.code(204).send();
  });
}
