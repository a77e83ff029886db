import { z } from 'zod';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { metricsFormatOf, metricsFormats, metricsText } from '@lemniscate/shared/telemetry/metrics-text.ts';
import type { App } from './app.ts';

export interface MetricsRouteDeps {
  readonly collectMetrics: () => Promise<readonly MetricFamily[]>;
}

/** Public listener, for operators: `GET /metrics`, as Prometheus text or, where the scraper asks, OpenMetrics. */
export function registerMetricsRoutes(app: App, deps: MetricsRouteDeps): void {
  app.get('/metrics', { schema: { response: { 200: z.string() } } }, async (request, reply) => {
    const format = metricsFormatOf(request.headers.accept);
    const text = metricsText(await deps.collectMetrics(), format);
    return reply.type(metricsFormats[format]).send(text);
  });
}
