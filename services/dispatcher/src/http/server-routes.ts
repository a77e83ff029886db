import { z } from 'zod';
import { drainServerSchema, serverListSchema } from '@lemniscate/shared/api/server.ts';
import { approveServer, drainServer, undrainServer } from '../application/servers/operate-server.ts';
import type { OperateDeps } from '../application/servers/operate-server.ts';
import { countHeld } from '../application/servers/held-sessions.ts';
import { serverFault } from '../application/servers/server-fault.ts';
import { joinWorkstation, leaveWorkstation } from '../application/servers/join-workstation.ts';
import type { JoinDeps } from '../application/servers/join-workstation.ts';
import { listServers, ownCapacity, usableCapacity } from '../application/servers/server-row.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

export interface ServerRouteDeps extends JoinDeps, OperateDeps {
  readonly caPem: string;
  /** Where agent servers reach the internal listener; known once it listens. */
  readonly internalUrl: () => string;
}

const serverParams = z.object({ id: z.string().regex(/^[\w.-]{1,64}$/, 'must be a server id') });

/** Agent servers as an operator sees them, and how a workstation joins and leaves. */
export function registerServerRoutes(app: App, deps: ServerRouteDeps): void {
  app.get('/v1/servers', { schema: { response: { 200: serverListSchema } } }, async () => {
    const [rows, heldBy] = await Promise.all([listServers(deps.database), countHeld(deps.database)]);
    return {
      servers: rows.map((row) => ({
        id: row.id,
        url: row.url,
        pool: row.pool,
        capacity: ownCapacity(row),
        usable: usableCapacity(row),
        held: heldBy(row),
        warm: row.status?.warm ?? 0,
        driver: row.driver,
        draining: row.status?.draining ?? false,
        unhealthy: row.status?.unhealthy ?? null,
        drained: row.drained,
        drainDeadline: row.drain_deadline,
        outBecause: serverFault(row),
        clamp: row.clamp,
        architecture: row.status?.architecture ?? null,
        labels: row.status?.labels ?? [],
        pinnedTo: row.pinned_to,
        seenAt: row.seen_at,
        version: row.version,
      })),
    };
  });

  app.post(
    '/v1/servers',
    {
      schema: {
        body: z.strictObject({
          publicKeyPem: z.string().max(4096),
          capacity: z.int().min(1).max(64),
        }),
        response: {
          201: z.object({
            serverId: z.string(),
            certificatePem: z.string(),
            caPem: z.string(),
            internalUrl: z.string(),
          }),
        },
      },
    },
    async (request, reply) => {
      const joined = await joinWorkstation(deps, personOf(request), request.body);
      return reply.code(201).send({ ...joined, caPem: deps.caPem, internalUrl: deps.internalUrl() });
    },
  );

  app.delete('/v1/servers/:id', { schema: { params: serverParams } }, async (request, reply) => {
    await leaveWorkstation(deps, personOf(request), request.params.id);
    return reply.code(204).send();
  });

  app.put(
    '/v1/servers/:id/drain',
    { schema: { params: serverParams, body: drainServerSchema } },
    async (request, reply) => {
      const { deadlineSeconds } = request.body;
      const seen = readIfMatch(request, 'server');
      const { id } = request.params;
      const version = await drainServer(deps, personOf(request), id, deadlineSeconds ?? null, seen);
      void reply.header('etag', etagOf(version));
      return reply.code(204).send();
    },
  );

  app.delete('/v1/servers/:id/drain', { schema: { params: serverParams } }, async (request, reply) => {
    const seen = readIfMatch(request, 'server');
    void reply.header('etag', etagOf(await undrainServer(deps, personOf(request), request.params.id, seen)));
    return reply.code(204).send();
  });

  app.put('/v1/servers/:id/approval', { schema: { params: serverParams } }, async (request, reply) => {
    const seen = readIfMatch(request, 'server');
    void reply.header('etag', etagOf(await approveServer(deps, personOf(request), request.params.id, seen)));
    return reply.code(204).send();
  });
}
