import { context, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import type { Context, SpanContext, Tracer as OtelTracer } from '@opentelemetry/api';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';
import { formatTraceparent, parseTraceparent } from '@lemniscate/shared/telemetry/trace-context.ts';
import type { Span, SpanAttributes, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Our port over OpenTelemetry's tracer. Contexts are handed on by name, never by a hidden current one. */
export function createOtelTracer(tracer: OtelTracer): Tracer {
  return {
    start: ({ name, kind, parent, links = [], attributes = {}, startMs }): Span => {
      const known = links.map(spanContextOf).filter((link) => link !== null);
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes: harmless(attributes),
          links: known.map((link) => ({ context: link })),
          ...(startMs === undefined ? {} : { startTime: startMs }),
        },
        contextOf(parent),
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      let ended = false;
      return {
        context: formatTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
        set: (more) => void span.setAttributes(harmless(more)),
        fail: (error) => {
          span.setAttribute('error.type', error);
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        end: () => {
          if (!ended) span.end();
          ended = true;
        },
      };
    },
  };
}

/** Texts that were looked through: names come again and again, and a look costs some 20 microseconds. */
const mostSeen = 1_000;
const seen = new Set<string>();

/** Spans hold ids and names, and a secret may stand in a name: it is replaced like everywhere else. */
function harmless(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? redacted(value) : value,
    ]),
  );
}

function redacted(text: string): string {
  if (seen.has(text)) return text;
  const without = redactSecrets(text);
  if (without === text) {
    if (seen.size >= mostSeen) seen.clear();
    seen.add(text);
  }
  return without;
}

function contextOf(parent: string | null): Context {
  const named = spanContextOf(parent);
  return named === null
    ? context.active()
    : trace.setSpanContext(context.active(), { ...named, isRemote: true });
}

function spanContextOf(traceparent: unknown): SpanContext | null {
  const named = parseTraceparent(traceparent);
  if (named === null) return null;
  const { traceId, spanId, sampled } = named;
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE };
}
