import type { Log } from '../application/ports/log.ts';

/** Work that repairs something: it takes no input and looks at the record each time. */
export interface LoopOptions {
  readonly name: string;
  /** It runs at least this often, whatever signals are lost. */
  readonly everyMs: number;
  /** A kick that comes sooner after the last run waits so long: one look finds what hundreds of signals told of. 0 if absent. */
  readonly restMs?: number;
  readonly work: () => Promise<void>;
  readonly log: Log;
}

export interface Loop {
  /** Runs the work soon; while it runs, once more afterwards. */
  kick(): void;
  /** No run begins any more; resolves when the running one is done, at most after the time. */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * Runs work on a signal and on a timer, never twice at once. A failing run is logged and repeated by the next tick;
 * the same fault is told again only when it changes, so that a Postgres that is away does not fill the log.
 */
export function startLoop(options: LoopOptions): Loop {
  let running: Promise<void> | null = null;
  let again = false;
  let stopped = false;
  let lastFault = '';
  let resting: NodeJS.Timeout | null = null;

  const runOnce = async (): Promise<void> => {
    again = false;
    try {
      await options.work();
      if (lastFault !== '') options.log.info({ loop: options.name }, 'the loop works again');
      lastFault = '';
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'not an error object';
      if (fault !== lastFault)
        options.log.error({ err: error, loop: options.name }, 'a run of the loop failed');
      lastFault = fault;
    }
    running = null;
    if (options.restMs === undefined) {
      if (again) kick();
      return;
    }
    resting = setTimeout(() => {
      resting = null;
      if (again) kick();
    }, options.restMs);
  };
  const kick = (): void => {
    if (stopped) return;
    if (running !== null || resting !== null) {
      again = true;
      return;
    }
    running = runOnce();
  };
  const timer = setInterval(kick, options.everyMs);
  kick();
  return {
    kick,
    stop: async (timeoutMs) => {
      stopped = true;
      clearInterval(timer);
      if (resting !== null) clearTimeout(resting);
      if (running === null) return;
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const bound = setTimeout(resolve, timeoutMs);
      await Promise.race([running, late]).finally(() => clearTimeout(bound));
    },
  };
}
