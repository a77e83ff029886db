import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { loadAgent } from '../agents/agents.ts';
import type { FrozenAgent } from '../agents/agents.ts';
import { inBatches, sharedCall, unwrap } from '../in-batches.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { loadProjectPolicy } from '../projects/project.ts';
import type { ProjectTerms } from '../projects/project.ts';
import { openTogether } from './open-together.ts';
import type { OpenDeps, Opening } from './open-together.ts';

/** What was asked under an idempotency key before. */
export interface Earlier {
  readonly requestHash: string;
  readonly sessionId: string;
}

/** Opens sessions, and reads what is frozen into them; callers of the same moment share statements and transactions. */
export interface Openings {
  earlierOf(caller: string, key: string): Promise<Earlier | null>;
  /** @throws CodedError `project_unknown` */
  termsOf(project: string): Promise<ProjectTerms>;
  /** @throws CodedError `agent_unknown` */
  agentOf(project: string, agent: string): Promise<FrozenAgent>;
  /** @returns false when a twin has the idempotency key */
  open(opening: Opening): Promise<boolean>;
  /** In a transaction of its own, to which more belongs. */
  openAlone(opening: Opening, alsoNote: (tx: Transaction) => Promise<void>): Promise<boolean>;
}

/** Sessions of one transaction. More would let the first ones wait for the last. */
const together = { most: 32, lanes: 2 };

/** @param deps shared by all who open sessions in this process */
export function createOpenings(deps: OpenDeps & { readonly database: Database }): Openings {
  const { database } = deps;
  const openAlone = (
    opening: Opening,
    alsoNote: (tx: Transaction) => Promise<void> = () => Promise.resolve(),
  ): Promise<boolean> =>
    database.transaction(async (tx) => {
      const opened = await openTogether(deps, tx, [opening]);
      if (opened.size > 0) await alsoNote(tx);
      return opened.size > 0;
    });
  const inCompany = inBatches<Opening, PromiseSettledResult<boolean>>(together, async (openings) => {
    if (openings.length > 1)
      try {
        const opened = await database.transaction((tx) => openTogether(deps, tx, openings));
        return openings.map(({ id }) => ({ status: 'fulfilled', value: opened.has(id) }));
      } catch (error) {
        // Nobody can tell whether it has committed: opening them again could collide with themselves.
        if (isCodedError(error, 'service_unreachable')) throw error;
      }
    // Alone, or since something stands against one of them: each gets its own answer.
    return Promise.allSettled(openings.map((opening) => openAlone(opening)));
  });
  const agents = sharedCall((key: string) => {
    const [project, id] = JSON.parse(key) as [string, string];
    return loadAgent(database, project, id);
  });
  return {
    earlierOf: createEarlierLook(database),
    termsOf: sharedCall((project: string) => loadProjectPolicy(database, project)),
    agentOf: (project, agent) => agents(JSON.stringify([project, agent])),
    open: async (opening) => unwrap(await inCompany(opening)),
    openAlone,
  };
}

function createEarlierLook(database: Transaction): Openings['earlierOf'] {
  const look = inBatches<{ readonly caller: string; readonly key: string }, Earlier | null>(
    { most: 64, lanes: 2 },
    async (asked) => {
      const rows = await database.query<{ request_hash: string | null; session_id: string | null }>(
        `SELECT k.request_hash, k.session_id
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (caller, key, place)
         LEFT JOIN idempotency_keys k ON k.caller = asked.caller AND k.key = asked.key ORDER BY place`,
        [asked.map(({ caller }) => caller), asked.map(({ key }) => key)],
      );
      return rows.map(({ request_hash: requestHash, session_id: sessionId }) =>
        requestHash === null || sessionId === null ? null : { requestHash, sessionId },
      );
    },
  );
  return (caller, key) => look({ caller, key });
}
