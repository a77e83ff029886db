import type { Reservations } from '../ports/reservations.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Tells the ledger which pools fill one server after the other, as the record has them. */
export async function packPools(deps: {
  readonly database: Transaction;
  readonly reservations: Pick<Reservations, 'pack'>;
}): Promise<void> {
  const rows = await deps.database.query<{ pool: string }>('SELECT pool FROM pool_settings WHERE packing');
  await deps.reservations.pack(rows.map(({ pool }) => pool));
}
