import type { FastifyInstance } from 'fastify';
import { metricsFormatOf, metricsFormats, metricsText } from '@lemniscate/shared/telemetry/metrics-text.ts';
import type { RouteDeps } from './route-deps.ts';

/** `GET /metrics`, for a scraper with a certificate of the fleet. */
export function registerMetricsRoutes(app: FastifyInstance, { collectMetrics }: RouteDeps): void {
  app.get('/metrics', async (request, reply) => {
    const format = metricsFormatOf(request.headers.accept);
    return reply.type(metricsFormats[format]).send(metricsText(await collectMetrics(), format));
  });
}
