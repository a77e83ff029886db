/** One Postgres transaction as the application sees it: parameterised statements, rows back. */
export interface Transaction {
  query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * The record. `transaction` commits when `work` resolves and rolls back when it throws. A statement that `work` has sent
 * last and does not await shares the round trip of the commit; where it fails, `transaction` fails with its error.
 */
export interface Database extends Transaction {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}
