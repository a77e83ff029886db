import {
  inviteServerSchema,
  joinServerSchema,
  invitationSchema,
  joinedServerSchema,
} from '@lemniscate/shared/api/server.ts';
import { inviteServer, joinByToken } from '../application/servers/invite-server.ts';
import type { InviteDeps } from '../application/servers/invite-server.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

export interface InvitationRouteDeps extends InviteDeps {
  readonly caPem: string;
  /** Where agent servers reach the internal listener; known once it listens. */
  readonly internalUrl: () => string;
}

/** Public listener: an operator invites a server, and the server joins with its token instead of a login. */
export function registerInvitationRoutes(app: App, deps: InvitationRouteDeps): void {
  app.post(
    '/v1/server-invitations',
    { schema: { body: inviteServerSchema, response: { 201: invitationSchema } } },
    async (request, reply) => reply.code(201).send(await inviteServer(deps, personOf(request), request.body)),
  );

  app.post(
    '/v1/server-invitations/use',
    { schema: { body: joinServerSchema, response: { 201: joinedServerSchema } } },
    async (request, reply) => {
      const joined = await joinByToken(deps, request.body);
      return reply.code(201).send({ ...joined, caPem: deps.caPem, internalUrl: deps.internalUrl() });
    },
  );
}
