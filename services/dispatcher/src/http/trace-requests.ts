import type { FastifyRequest } from 'fastify';
import { parseTraceparent, traceFields } from '@lemniscate/shared/telemetry/trace-context.ts';
import type { Span, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { App } from './app.ts';

const spans = new WeakMap<FastifyRequest, Span>();

/** The span of a request, as a `traceparent`; null where nothing is traced. */
export function traceOf(request: FastifyRequest): string | null {
  return spans.get(request)?.context ?? null;
}

/** Asked every few seconds and by everybody: nobody looks for them in a trace. */
const untraced = /^\/(healthz|readyz|metrics|openapi\.json|console.*)?$/;

/**
 * A span for each request. On the public listener callers are strangers: theirs are linked, and a trace begins here. On
 * the internal one the caller is a server of this fleet, which has shown its certificate: its context is the parent,
 * and a sandbox' own, which the server only passes on, is linked. Register it after the caller is known.
 */
export function traceRequests(app: App, tracer: Tracer | null, listener: 'public' | 'internal'): void {
  if (tracer === null) return;
  app.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? '';
    const told = request.headers['traceparent'];
    const ours = listener === 'internal';
    // Heartbeats and what belongs to no session carry none.
    if (untraced.test(route) || (ours && parseTraceparent(told) === null)) return done();
    const span = tracer.start({
      name: `${request.method} ${route}`,
      kind: 'server',
      parent: ours && typeof told === 'string' ? told : null,
      links: ours ? [request.headers['x-sandbox-traceparent']] : [told],
      attributes: { 'http.request.method': request.method, 'http.route': route },
    });
    spans.set(request, span);
    request.log = request.log.child(traceFields(span.context));
    // Also for answers that are taken over and for callers that leave.
    reply.raw.once('close', () => {
      const status = reply.raw.statusCode;
      span.set({ 'http.response.status_code': status });
      if (status >= 500) span.fail(String(status));
      span.end();
    });
    done();
  });
}
