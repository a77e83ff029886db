import type { Span, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { Cause } from '@lemniscate/shared/api/delivery.ts';

/** The span of a start that no caller waits for: a trigger's, a mention's, an assignment's. It begins a trace. */
export function traceWish(
  tracer: Tracer | null,
  wish: { readonly id: string; readonly cause: Cause },
): Span | null {
  if (tracer === null) return null;
  return tracer.start({
    name: 'start wish',
    kind: 'consumer',
    parent: null,
    attributes: { 'lemniscate.delivery': wish.id, 'lemniscate.cause': wish.cause },
  });
}
