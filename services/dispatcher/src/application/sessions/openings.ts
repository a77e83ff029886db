import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { inBatches, unwrap } from '../in-batches.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { createOpeningLook } from './opening-look.ts';
import type { OpeningLook } from './opening-look.ts';
import { openOne, openTogether } from './open-together.ts';
import type { OpenDeps, Opening } from './open-together.ts';

/** Opens sessions, and reads what is frozen into them; callers of the same moment share statements and transactions. */
export interface Openings {
  readonly lookAt: OpeningLook;
  /** @returns the session as it was opened; null when a twin has the idempotency key */
  open(opening: Opening): Promise<SessionView | null>;
  /** In a transaction of its own, to which more belongs. */
  openAlone(opening: Opening, alsoNote: (tx: Transaction) => Promise<void>): Promise<SessionView | null>;
}

/** Sessions of one transaction. More would let the first ones wait for the last. */
const together = { most: 32, lanes: 2, patienceMs: 50 };
/** Each has a connection of its own, and others want some too: a twin of one must not hold up who has nothing to do with it. */
const alonesAtOnce = 4;

/** @param deps shared by all who open sessions in this process */
export function createOpenings(deps: OpenDeps & { readonly database: Database }): Openings {
  const { database } = deps;
  const openAlone = (
    opening: Opening,
    alsoNote: (tx: Transaction) => Promise<void> = () => Promise.resolve(),
  ): Promise<SessionView | null> =>
    database.transaction(async (tx) => {
      const view = await openOne(deps, tx, opening);
      if (view !== null) await alsoNote(tx);
      return view;
    });
  const inCompany = inBatches<Opening, PromiseSettledResult<SessionView | null>>(
    together,
    async (openings) => {
      if (openings.length > 1)
        try {
          const opened = await (await database.transaction((tx) => openTogether(deps, tx, openings)))();
          return openings.map(({ id }) => ({ status: 'fulfilled', value: opened.get(id) ?? null }));
        } catch (error) {
          // Nobody can tell whether it has committed: opening them again could collide with themselves.
          if (isCodedError(error, 'service_unreachable')) throw error;
        }
      // Alone, or since something stands against one of them: each gets its own answer.
      const answers: PromiseSettledResult<SessionView | null>[] = [];
      for (let from = 0; from < openings.length; from += alonesAtOnce)
        answers.push(
          ...(await Promise.allSettled(
            openings.slice(from, from + alonesAtOnce).map((opening) => openAlone(opening)),
          )),
        );
      return answers;
    },
  );
  return {
    lookAt: createOpeningLook(database),
    open: async (opening) => unwrap(await inCompany(opening)),
    openAlone,
  };
}
