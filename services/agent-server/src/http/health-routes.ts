import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from './route-deps.ts';

/** `GET /healthz`: the process answers. `GET /readyz`: it would take a session. */
export function registerHealthRoutes(app: FastifyInstance, { status }: RouteDeps): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { draining, unhealthy } = status();
    const ready = !draining && unhealthy === undefined;
    return reply.code(ready ? 200 : 503).send({ ready, draining, unhealthy });
  });
}
