/** A span as another process can name it: a `traceparent` of W3C Trace Context, version 00. */
export interface SpanName {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Reads a `traceparent`; null where it is none, whatever wrote it. */
export function parseTraceparent(text: unknown): SpanName | null {
  if (typeof text !== 'string') return null;
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text);
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes a `traceparent`. */
export function formatTraceparent({ traceId, spanId, sampled }: SpanName): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** What a log line says of the span that it belongs to; nothing where there is none. */
export function traceFields(traceparent: string | null | undefined): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  const name = parseTraceparent(traceparent);
  return name === null ? {} : { trace_id: name.traceId, span_id: name.spanId };
}
