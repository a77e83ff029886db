/** One Postgres transaction as the application sees it: parameterised statements, rows back. */
export interface Transaction {
  query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The record. `transaction` commits when `work` resolves and rolls back when it throws. */
export interface Database extends Transaction {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}
