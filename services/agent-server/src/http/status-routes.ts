import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from './route-deps.ts';

/** `GET /status`: what a heartbeat says too. */
export function registerStatusRoutes(app: FastifyInstance, { status }: RouteDeps): void {
  app.get('/status', async () => status());
}
