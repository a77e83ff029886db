import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { changeSetting } from '../setting-version.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database } from '../ports/transaction.ts';

/**
 * Sets how a pool is filled: server by server, or evenly.
 * @param seen the version that the caller saw; 0: nobody has set anything
 * @returns the version after it
 * @throws CodedError `version_conflict`
 */
export async function setPacking(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  person: Person,
  pool: string,
  packing: boolean,
  seen: number,
): Promise<number> {
  const setting = { table: 'pool_settings', key: [pool], what: `setting of pool "${pool}"` } as const;
  return database.transaction(async (tx) => {
    const version = await changeSetting(tx, setting, seen, async () => {
      await tx.query(
        'INSERT INTO pool_settings (pool, packing) VALUES ($1, $2) ON CONFLICT (pool) DO UPDATE SET packing = $2',
        [pool, packing],
      );
    });
    await audit.append(tx, fleetChain, [
      {
        type: 'admin.acted',
        subject: person.subject,
        body: { act: 'pool_set', target: pool, packing },
      },
    ]);
    return version;
  });
}
