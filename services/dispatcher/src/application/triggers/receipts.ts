import type { Database, Transaction } from '../ports/transaction.ts';

/** Notes that something has come. @returns false when the same id or the same bytes had come from there before */
export async function takeReceipt(
  tx: Transaction,
  {
    origin,
    externalId,
    digest,
  }: { readonly origin: string; readonly externalId: string; readonly digest: string },
): Promise<boolean> {
  const rows = await tx.query(
    'INSERT INTO receipts (origin, external_id, body_digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1',
    [origin, externalId, digest],
  );
  return rows.length > 0;
}

/** How long what has come is known again, and what became of it is shown. Days. */
const receiptDays = 90;
const deliveryDays = 365;
/** Rows of one pass; the next takes the rest. */
const atOnce = 1_000;

/** Forgets what is too old to come again or to be asked about. */
export async function forgetOld(database: Database): Promise<void> {
  const old = (table: string, column: string, days: number, more = '') =>
    `DELETE FROM ${table} WHERE ctid IN (SELECT ctid FROM ${table} WHERE ${column} < now() - interval '${days} days' ${more}
     LIMIT ${atOnce})`;
  await database.query(old('receipts', 'received_at', receiptDays));
  await database.query(old('deliveries', 'created_at', deliveryDays, `AND state <> 'pending'`));
  await database.query(old('inbox_items', 'done_at', deliveryDays));
}
