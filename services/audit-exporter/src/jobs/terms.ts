import type { Role } from '../application/export-status.ts';
import type { BeginTerm, Term } from '../application/ports/term.ts';
import { errorFields } from '../log.ts';
import type { Log } from '../log.ts';
import { createWakeup } from './wakeup.ts';

export interface Terms {
  role(): Role;
  term(): Term | null;
  stop(): Promise<void>;
}

export interface TermsOptions {
  readonly begin: BeginTerm;
  readonly log: Log;
  readonly notified: () => void;
  /** Works while leading; resolves only after `until` has and everything is let go of. */
  readonly work: (term: Term, until: Promise<void>) => Promise<void>;
}

/** One term after the other, for ever: connect, stand by until the lock is free, lead until the connection is gone. */
export function startTerms({ begin, log, notified, work }: TermsOptions): Terms {
  const stop = new AbortController();
  const stopped = new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
  const pause = createWakeup();
  let now: { role: Role; term: Term | null } = { role: 'disconnected', term: null };

  const become = (role: Role, term: Term | null): void => {
    if (role !== now.role) log('info', `exporter is ${role}`);
    now = { role, term };
  };

  const serve = async (term: Term): Promise<void> => {
    const over = new AbortController();
    const until = Promise.race([term.over, stopped]).then(() => {
      over.abort();
      pause.wake();
    });
    become('standby', term);
    while (!over.signal.aborted) {
      if (await term.lead()) {
        become('leading', term);
        return work(term, until);
      }
      await pause.wait(1_000);
    }
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!stop.signal.aborted) {
      try {
        const term = await begin(notified);
        try {
          await serve(term);
        } finally {
          await term.end();
        }
        failures = 0;
      } catch (error) {
        failures += 1;
        log('warn', 'no connection to the record', { failures, ...errorFields(error) });
      }
      become('disconnected', null);
      if (!stop.signal.aborted) await pause.wait(Math.min(5_000, 250 * 2 ** Math.min(failures, 8)));
    }
  };

  const ended = run();
  return {
    role: () => now.role,
    term: () => now.term,
    stop: () => {
      stop.abort();
      pause.wake();
      return ended;
    },
  };
}
