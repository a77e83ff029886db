import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { selectRows } from './session-rows.ts';

export interface WatchRowsDeps {
  readonly database: Transaction;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rows that have changed, as of a moment from which a reader can go on later. */
export interface ChangedRows {
  /** Milliseconds since the epoch: the SSE id. */
  readonly at: number;
  readonly rows: readonly SessionRow[];
}

/** Tells of sessions that begin, change and end, to any number of readers with one look at the record a second. */
export interface RowWatch {
  /** What lives now and what has ended since a moment, then every change. Ends when the signal aborts. */
  follow(
    seen: readonly string[] | null,
    since: number | null,
    gone: AbortSignal,
  ): AsyncGenerator<ChangedRows>;
}

const lookEveryMs = 1_000;
/** A commit becomes visible later than its own stamp says; looks overlap by so much. */
const overlapMs = 5_000;
/** Most rows that one look brings; a fleet with more live sessions is shown its newest ones live. */
const maxRows = 2_000;
const isLive = `state IN ('pending', 'starting', 'running', 'paused')`;

/** One watch a process: it looks while somebody follows, and rests otherwise. */
export function createRowWatch(deps: WatchRowsDeps): RowWatch {
  const known = new Map<string, string>();
  const readers = new Set<(rows: readonly SessionRow[]) => void>();
  let looking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let lastLook = 0;

  const look = async (): Promise<void> => {
    const from = deps.clock.now().getTime();
    const rows = await changedSince(deps.database, lastLook === 0 ? from : lastLook);
    lastLook = from;
    const changed = rows.filter((row) => known.get(row.id) !== JSON.stringify(row));
    known.clear();
    for (const row of rows) known.set(row.id, JSON.stringify(row));
    if (changed.length > 0) for (const tell of readers) tell(changed);
  };
  const lookNow = (): void => {
    looking ??= look()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'the list of sessions was not read'))
      .finally(() => {
        looking = null;
        clearTimeout(timer);
        if (readers.size > 0) timer = setTimeout(lookNow, lookEveryMs);
      });
  };
  for (const signal of ['outbox', 'ended', 'approvals'] as const)
    deps.signals.on(signal, () => {
      if (readers.size > 0) lookNow();
    });

  return {
    async *follow(seen, since, gone) {
      const maySee = (row: SessionRow): boolean => seen === null || seen.includes(row.project);
      let waiting: SessionRow[] = [];
      let wake = Promise.withResolvers<void>();
      const tell = (rows: readonly SessionRow[]): void => {
        // A reader that does not read holds the newest state of each session, not each step.
        const byId = new Map([...waiting, ...rows.filter(maySee)].map((row) => [row.id, row]));
        waiting = [...byId.values()].slice(-maxRows);
        if (waiting.length > 0) wake.resolve();
      };
      const leave = (): void => wake.resolve();
      gone.addEventListener('abort', leave);
      readers.add(tell);
      try {
        const at = deps.clock.now().getTime();
        const first = await changedSince(deps.database, since ?? at);
        yield { at, rows: first.filter(maySee) };
        lookNow();
        while (!gone.aborted) {
          if (waiting.length === 0) await wake.promise;
          wake = Promise.withResolvers();
          const rows = waiting;
          waiting = [];
          if (rows.length > 0 && !gone.aborted) yield { at: deps.clock.now().getTime(), rows };
        }
      } finally {
        readers.delete(tell);
        gone.removeEventListener('abort', leave);
      }
    },
  };
}

function changedSince(database: Transaction, since: number): Promise<SessionRow[]> {
  const from = new Date(since - overlapMs).toISOString();
  return selectRows(database, `(${isLive}) OR ended_at > $1`, [from], maxRows);
}
