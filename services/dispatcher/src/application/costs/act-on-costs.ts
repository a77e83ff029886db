import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface CostActDeps {
  readonly database: Database;
  readonly audit: AuditLog;
}

/** The chain that tells of acts on a project's costs, or on those of the whole fleet. */
export const costChain = (project: string | null): string =>
  project === null ? fleetChain : reviewChain(project);

interface CostAct<Result> extends Pick<AuditDraft, 'type' | 'body'> {
  readonly result?: Result;
}

/** Does what a person decided about costs and writes it down, both or neither. */
export async function actOnCosts<Result>(
  { database, audit }: CostActDeps,
  person: Person,
  chain: string,
  act: (tx: Transaction) => Promise<CostAct<Result>>,
): Promise<Result> {
  return database.transaction(async (tx) => {
    const { type, body, result } = await act(tx);
    await audit.append(tx, chain, [{ type, subject: person.subject, body }]);
    return result as Result;
  });
}
