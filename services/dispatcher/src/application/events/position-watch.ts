import type { Log } from '../ports/log.ts';
import type { Transaction } from '../ports/transaction.ts';

/** How long a reader can be behind when every signal is lost. Milliseconds. */
const watchMs = 1_000;

/** One reader as the watch knows it. */
export interface WatchedReader {
  readonly sessionId: string;
  position(): number;
  /** There is more in the record than this reader has seen. */
  behind(): void;
}

export interface PositionWatch {
  /** @returns how to stop watching */
  watch(reader: WatchedReader): () => void;
  close(): void;
}

/**
 * Asks the record once a second, in one statement for all readers of this process, who is behind. It is what makes a
 * lost signal, a flushed or a dead Redis cost a second and never an event.
 */
export function createPositionWatch(deps: {
  readonly database: Transaction;
  readonly log: Log;
}): PositionWatch {
  const readers = new Set<WatchedReader>();
  let busy = false;
  const look = async (): Promise<void> => {
    const sessions = [...new Set([...readers].map((reader) => reader.sessionId))];
    const rows = await deps.database.query<{ id: string; event_position: number }>(
      'SELECT id, event_position FROM sessions WHERE id = ANY ($1)',
      [sessions],
    );
    const positions = new Map(rows.map((row) => [row.id, row.event_position]));
    for (const reader of readers)
      if ((positions.get(reader.sessionId) ?? Infinity) > reader.position()) reader.behind();
  };
  const tick = (): void => {
    if (busy || readers.size === 0) return;
    busy = true;
    look()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'the watch over live readers could not look'))
      .finally(() => {
        busy = false;
      });
  };
  const timer = setInterval(tick, watchMs).unref();
  return {
    watch: (reader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
    close: () => clearInterval(timer),
  };
}
