import { returnSlices } from '../application/costs/budgets.ts';
import { appendComputeCosts, foldCosts } from '../application/costs/fold-costs.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { Log } from '../application/ports/log.ts';
import type { Database } from '../application/ports/transaction.ts';

/** Compute costs first, so that they are in the same fold. */
export async function keepCosts(deps: {
  readonly database: Database;
  readonly newId: NewId;
  readonly log: Log;
}): Promise<void> {
  await appendComputeCosts(deps.database);
  await foldCosts(deps.database);
  const { warned } = await returnSlices(deps.database, deps.newId);
  for (const { scope, name, amountUsd, grantedUsd, state } of warned)
    deps.log.warn({ scope, name, amountUsd, grantedUsd, state }, 'a budget has come to its warning');
}
