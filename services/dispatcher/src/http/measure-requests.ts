import type { FastifyRequest } from 'fastify';
import { createCounter, createHistogram } from '@lemniscate/shared/telemetry/metrics.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { parseTraceparent } from '@lemniscate/shared/telemetry/trace-context.ts';
import type { App } from './app.ts';
import { traceOf } from './trace-requests.ts';

/** What the listeners of this process have answered. */
export interface RequestMeasures {
  measure(app: App, listener: 'public' | 'internal'): void;
  families(): readonly MetricFamily[];
}

/** Answers that wait for somebody: how long they take says nothing about us. */
const waiting = /\/(permits|messages|events|device\/finish)$/;

export function createRequestMeasures(): RequestMeasures {
  const requests = createCounter('lemniscate_http_requests_total');
  const seconds = createHistogram('lemniscate_http_request_seconds');
  return {
    measure: (app, listener) => {
      // there before the first of them: Prometheus sees only how much a series has grown since its first value
      for (const status of ['2xx', '3xx', '4xx', '5xx']) requests.add({ listener, status }, 0);
      app.addHook('onResponse', (request, reply, done) => {
        requests.add({ listener, status: `${Math.floor(reply.statusCode / 100)}xx` }, 1);
        const traceId = parseTraceparent(traceOf(request))?.traceId ?? null;
        if (!waits(request)) seconds.observe({ listener }, reply.elapsedTime / 1_000, traceId);
        done();
      });
    },
    families: () => [requests.family(), seconds.family()],
  };
}

function waits(request: FastifyRequest): boolean {
  const { body } = request;
  const asked = body !== null && typeof body === 'object' && 'wait' in body && body.wait === true;
  return asked || waiting.test(request.routeOptions.url ?? '');
}
