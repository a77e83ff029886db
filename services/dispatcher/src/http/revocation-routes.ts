import { z } from 'zod';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { revocationNoteSchema, revokedUsersSchema } from '@lemniscate/shared/api/revocation.ts';
import { requireRole } from '../application/identity.ts';
import { restoreUser, revokeSession, revokeUser } from '../application/revocation/revoke.ts';
import type { RevokeDeps } from '../application/revocation/revoke.ts';
import { listRevokedUsers } from '../application/revocation/revoked-users.ts';
import { getSession } from '../application/sessions/read-sessions.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';
import { readIfMatch } from './versions.ts';

const userParams = z.object({ subject: z.string().min(1).max(256) });

/** Public listener: an administrator takes away a session or a person's access, at once. */
export function registerRevocationRoutes(app: App, deps: RevokeDeps): void {
  app.post(
    '/v1/sessions/:id/revoke',
    { schema: { params: sessionParams, body: revocationNoteSchema, response: { 200: sessionViewSchema } } },
    async (request) => {
      await revokeSession(deps, personOf(request), request.params.id, request.body);
      return getSession(deps.database, request.params.id);
    },
  );

  app.get('/v1/revocations', { schema: { response: { 200: revokedUsersSchema } } }, async (request) => {
    requireRole(personOf(request), null, 'see who was revoked', 'administrator', 'auditor');
    const users = await listRevokedUsers(deps.database);
    return {
      users: users.map(({ subject, revoked_by, note, revoked_at, version }) => ({
        subject,
        revokedBy: revoked_by,
        note,
        revokedAt: revoked_at,
        version,
      })),
    };
  });

  app.put(
    '/v1/revocations/:subject',
    {
      schema: {
        params: userParams,
        body: revocationNoteSchema,
        response: { 200: z.object({ subject: z.string(), sessionsEnded: z.int() }) },
      },
    },
    async (request) => {
      const { subject } = request.params;
      return { subject, sessionsEnded: await revokeUser(deps, personOf(request), subject, request.body) };
    },
  );

  app.delete('/v1/revocations/:subject', { schema: { params: userParams } }, async (request, reply) => {
    const seen = readIfMatch(request, 'revocation');
    await restoreUser(deps, personOf(request), request.params.subject, seen);
    return reply.code(204).send();
  });
}
