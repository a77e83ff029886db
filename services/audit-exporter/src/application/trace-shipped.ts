import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { LogStore } from './ports/log-store.ts';

/** Told of each batch that a sink has confirmed. */
export type OnShipped = (sink: string, batch: readonly IndexedEntry[], startMs: number) => Promise<void>;

/**
 * The last span of a session's trace for each sink: its closing entry has arrived there. One a session and sink; a span
 * for every entry would be more than the session itself.
 */
export function createShippedTrace(tracer: Tracer, store: Pick<LogStore, 'traces'>): OnShipped {
  return async (sink, batch, startMs) => {
    const closed = batch
      .filter(({ entry }) => entry.type === 'chain.closed' && entry.chain.startsWith('session:'))
      .map(({ entry }) => entry.chain.slice('session:'.length));
    if (closed.length === 0) return;
    const traces = await store.traces(closed);
    for (const [session, parent] of traces)
      tracer
        .start({
          name: 'export session',
          kind: 'client',
          parent,
          startMs,
          attributes: { 'gen_ai.conversation.id': session, 'lemniscate.sink': sink },
        })
        .end();
  };
}
