import type { EndReason } from '@lemniscate/shared/session/end.ts';

/** Why an attempt is given up without a result. */
export type AbandonCause = 'parked' | 'stale' | 'deleted' | 'replaced' | 'lease_lost' | 'shutdown';

/**
 * What can come from outside while a session runs. `stop`: end it for a reason that the dispatcher has recorded, with
 * its diff where the table of ends offers one. `abandon`: destroy everything, tell nothing; it wins over a stop.
 */
export interface Interruption {
  /** Aborted by a stop or an abandon: no new action. */
  readonly work: AbortSignal;
  /** Aborted by an abandon only: also the diff and the result are given up. */
  readonly everything: AbortSignal;
  stop(reason: EndReason, message: string): void;
  abandon(cause: AbandonCause): void;
  stopped(): { readonly reason: EndReason; readonly message: string } | null;
  abandoned(): AbandonCause | null;
}

export function createInterruption(): Interruption {
  const work = new AbortController();
  const everything = new AbortController();
  let stopped: { reason: EndReason; message: string } | null = null;
  let abandoned: AbandonCause | null = null;
  return {
    work: work.signal,
    everything: everything.signal,
    stop: (reason, message) => {
      stopped ??= { reason, message };
      work.abort(new Error(`The session is to end: ${reason}.`));
    },
    abandon: (cause) => {
      abandoned ??= cause;
      const why = new Error(`The attempt is given up: ${cause}.`);
      work.abort(why);
      everything.abort(why);
    },
    stopped: () => stopped,
    abandoned: () => abandoned,
  };
}
