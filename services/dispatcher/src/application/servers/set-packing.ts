import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database } from '../ports/transaction.ts';

/** Sets how a pool is filled: server by server, or evenly. */
export async function setPacking(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  person: Person,
  pool: string,
  packing: boolean,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(
      'INSERT INTO pool_settings (pool, packing) VALUES ($1, $2) ON CONFLICT (pool) DO UPDATE SET packing = $2',
      [pool, packing],
    );
    await audit.append(tx, fleetChain, [
      {
        type: 'admin.acted',
        subject: person.subject,
        body: { act: 'pool_set', target: pool, packing },
      },
    ]);
  });
}
