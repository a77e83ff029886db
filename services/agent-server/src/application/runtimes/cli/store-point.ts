import { countPrograms } from '../../checkpoints/anything-runs.ts';
import type { RuntimeContext } from '../runtime.ts';

/**
 * Where a session whose loop a program drives can be stored in the middle of its work: the program asks its model, and
 * nothing else of it is under way. The question is then not passed on; the program ends, is stored with all that it has
 * written down, and asks again.
 */
export interface StorePoint {
  /** Before an exchange: false when it is not to be answered. */
  before(): Promise<boolean>;
  /** Aborted when the program is to be put away for a moment. */
  signal(): AbortSignal;
  /** It was. */
  taken(): void;
  /** The session only has to end. */
  close(): void;
  closed(): boolean;
}

/** The program itself, and the one that counts. */
const ownPrograms = 2;

/** @param underWay exchanges and calls */
export function createStorePoint(
  { checkpoints, sandbox, signal }: Pick<RuntimeContext, 'checkpoints' | 'sandbox' | 'signal'>,
  underWay: () => number,
): StorePoint {
  let wanted = new AbortController();
  let closed = false;
  /** The program has got an answer since it was stored last: without that it would be stored for ever. */
  let progress = false;
  return {
    before: async () => {
      const first = !progress;
      progress = true;
      if (first || closed || !checkpoints.due() || underWay() > 0) return true;
      // What the agent keeps in the background would die with its program.
      if ((await countPrograms(sandbox, signal)) > ownPrograms) {
        checkpoints.passed();
        return true;
      }
      if (closed || underWay() > 0) return true;
      wanted.abort();
      return false;
    },
    signal: () => wanted.signal,
    taken: () => {
      progress = false;
      wanted = new AbortController();
    },
    close: () => {
      closed = true;
    },
    closed: () => closed,
  };
}
