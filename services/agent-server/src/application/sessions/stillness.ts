import type { Lease } from '../lease.ts';
import type { Log } from '../ports/log.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';

/** Keeps the commands of a session still while its lease does not hold. */
export interface Stillness {
  /** The sandbox whose commands it is about, until that has ended. */
  bind(sandbox: Pick<Sandbox, 'freeze' | 'thaw' | 'ended'>): void;
  /** To be called several times a second. */
  look(): void;
}

/**
 * A session without a lease does nothing, and neither do its processes: what they would have computed in an outage, they
 * compute afterwards, and the time does not count against them. What cannot be stopped goes on; nothing depends on it.
 */
export function createStillness(lease: Pick<Lease, 'valid'>, log: Log): Stillness {
  let bound: Pick<Sandbox, 'freeze' | 'thaw'> | null = null;
  let still = false;
  let busy = false;
  const turn = async (sandbox: Pick<Sandbox, 'freeze' | 'thaw'>): Promise<void> => {
    busy = true;
    try {
      await (still ? sandbox.thaw() : sandbox.freeze());
      still = !still;
    } catch (error) {
      // It is looked at again in a moment; a sandbox that is gone says so by its end.
      log.debug({ err: error }, 'the processes of a sandbox could not be stopped or let go on');
    } finally {
      busy = false;
    }
  };
  return {
    bind: (sandbox) => {
      bound = sandbox;
      void sandbox.ended.then(() => {
        bound = null;
      });
    },
    look: () => {
      if (bound !== null && !busy && still === lease.valid()) void turn(bound);
    },
  };
}
