import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { changeSetting } from '../setting-version.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Log } from '../ports/log.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Database } from '../ports/transaction.ts';
import { packPools } from './pack-pools.ts';
import { tellLedger } from './tell-ledger.ts';

export interface PackingDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly reservations: Reservations;
  readonly log: Log;
}

/**
 * Sets how a pool is filled: server by server, or evenly. The next session that is placed follows it.
 * @param seen the version that the caller saw; 0: nobody has set anything
 * @returns the version after it
 * @throws CodedError `version_conflict`
 */
export async function setPacking(
  deps: PackingDeps,
  person: Person,
  pool: string,
  packing: boolean,
  seen: number,
): Promise<number> {
  const setting = { table: 'pool_settings', key: [pool], what: `setting of pool "${pool}"` } as const;
  const version = await deps.database.transaction(async (tx) => {
    const after = await changeSetting(tx, setting, seen, async () => {
      await tx.query(
        'INSERT INTO pool_settings (pool, packing) VALUES ($1, $2) ON CONFLICT (pool) DO UPDATE SET packing = $2',
        [pool, packing],
      );
    });
    await deps.audit.append(tx, fleetChain, [
      {
        type: 'admin.acted',
        subject: person.subject,
        body: { act: 'pool_set', target: pool, packing },
      },
    ]);
    return after;
  });
  await tellLedger(deps.log, `pool "${pool}" is filled otherwise`, () => packPools(deps));
  return version;
}
