/** What a span may say: ids, names out of our own tables, numbers. Never content, secrets or people. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'consumer' | 'internal';
  /** `traceparent` of the span above; null begins a trace. */
  readonly parent: string | null;
  /** `traceparent`s of spans that have to do with it and are not ours to believe; those that are none are left out. */
  readonly links?: readonly unknown[];
  readonly attributes?: SpanAttributes;
  /** Milliseconds of the epoch, where it began earlier. */
  readonly startMs?: number;
}

/** Work that has begun. */
export interface Span {
  /** Its `traceparent`, for what it causes elsewhere. */
  readonly context: string;
  set(attributes: SpanAttributes): void;
  /** @param error one of our stable codes or reasons, never a sentence: those may quote content */
  fail(error: string): void;
  /** Ends it; once. */
  end(): void;
}

/**
 * Where spans go. A service holds `Tracer | null`, and null is the whole cost of tracing that is off: nothing is
 * loaded, wrapped or allocated then.
 */
export interface Tracer {
  start(span: SpanStart): Span;
}
