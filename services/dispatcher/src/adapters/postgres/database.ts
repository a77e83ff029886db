import { Pool, types } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Database, Transaction } from '../../application/ports/transaction.ts';
import { mapError } from './postgres-fault.ts';

/** A database that has to be closed. */
export interface PostgresDatabase extends Database {
  /** Has every statement planned anew, on each connection when it is used next. */
  forgetPlans(): void;
  close(): Promise<void>;
}

export interface PostgresOptions {
  readonly url: URL;
  /** Most connections at once. */
  readonly connections: number;
  readonly statementTimeoutMs: number;
  /**
   * A pooler shares connections out by transaction: what is set on one is nobody's. Statements stay unnamed, and role
   * and time limits are the pooler's to set (`checkPooled`). Absent: connections are our own.
   */
  readonly pooled?: boolean;
  /** Told of connections that broke; the pool replaces them, and their statements fail. */
  readonly onConnectionError: (error: Error) => void;
}

/**
 * The pool through which everything but migrations and singletons reaches the record. Each connection works as role
 * `lemniscate_app`, which cannot change what is append-only. Connections pipeline: statements that are sent without
 * waiting for each other share a round trip.
 */
export function createDatabase(options: PostgresOptions): PostgresDatabase {
  const pooled = options.pooled ?? false;
  const pool = new Pool({
    connectionString: options.url.href,
    max: options.connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    pipeline: true,
    ...(pooled
      ? {}
      : {
          statement_timeout: options.statementTimeoutMs,
          idle_in_transaction_session_timeout: options.statementTimeoutMs * 2,
        }),
    application_name: 'lemniscate-dispatcher',
    types: { getTypeParser },
    onConnect: async (client) => {
      // The pool listens to idle connections only: one that breaks in use would end the process.
      client.on('error', options.onConnectionError);
      if (pooled) unnamed.add(client);
      else await client.query('SET ROLE lemniscate_app');
    },
  });
  pool.on('error', options.onConnectionError);
  let plansFrom = 0;
  const plannedFrom = new WeakMap<ClientBase, number>();
  const connect = async (): Promise<PoolClient> => {
    const client = await pool
      .connect()
      .catch((error: unknown) => Promise.reject(mapError(error, options.url)));
    if ((plannedFrom.get(client) ?? 0) < plansFrom && !pooled) discardPlans(client);
    plannedFrom.set(client, plansFrom);
    return client;
  };

  return {
    query: async <Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) => {
      const client = await connect();
      return run<Row>(client, options.url, text, values).then(
        (rows) => (client.release(), rows),
        (error: unknown) => {
          client.release(isBroken(error));
          throw error;
        },
      );
    },
    transaction: async (work) => {
      const client = await connect();
      return withTransaction(client, options.url, work);
    },
    forgetPlans: () => {
      plansFrom += 1;
    },
    close: () => pool.end(),
  };
}

/** Travels before the statement for which the connection was taken. One that fails is a broken connection's, as that statement will say. */
function discardPlans(client: PoolClient): void {
  inOneWrite(client);
  client.query('DISCARD PLANS').catch(() => undefined);
}

async function withTransaction<Result>(
  client: PoolClient,
  url: URL,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  // Not awaited: BEGIN travels with the first statement. Its failure shows as that statement's, and at COMMIT.
  inOneWrite(client);
  const begun = client.query('BEGIN').then(
    () => null,
    (error: unknown) => mapError(error, url),
  );
  let open = true;
  let failure: unknown = null;
  const tx: Transaction = {
    query: <Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) => {
      // A statement that comes after the end would run in whatever transaction the connection serves next.
      if (!open) return Promise.reject(new Error('this transaction has ended'));
      const rows = run<Row>(client, url, text, values);
      // Also of a statement that nobody awaits: it travels with COMMIT, which fails with it.
      rows.catch((error: unknown) => (failure ??= error));
      return rows;
    },
  };
  try {
    const result = await work(tx);
    open = false;
    const failedToBegin = await begun;
    if (failedToBegin !== null) throw failedToBegin;
    const committed = await client
      .query('COMMIT')
      .catch((error: unknown) => Promise.reject(mapError(error, url)));
    // Postgres answers ROLLBACK to the COMMIT of a transaction in which a statement failed and nobody noticed.
    if (committed.command !== 'COMMIT')
      throw (
        failure ??
        new CodedError('internal', 'A transaction was rolled back since one of its statements failed.')
      );
    client.release();
    return result;
  } catch (error) {
    open = false;
    const rolledBack = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    );
    client.release(!rolledBack || isBroken(error));
    throw failure !== null && isAfterFailure(error) ? failure : error;
  }
}

/** A statement behind one that failed and that nobody had awaited: what it says is not why. `in_failed_sql_transaction`. */
const isAfterFailure = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '25P02';

async function run<Row extends Record<string, unknown>>(
  client: PoolClient,
  url: URL,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  inOneWrite(client);
  try {
    const name = unnamed.has(client) ? {} : nameOf(text, values);
    const result = await client.query<Row>({ ...name, text, values: [...values] });
    return result.rows;
  } catch (error) {
    throw mapError(error, url);
  }
}

/** Connections behind a pooler: a statement that one of them has prepared is not there when the next one serves. */
const unnamed = new WeakSet<ClientBase>();

/**
 * Refuses a pooler whose connections are not what ours would be: the application must not be able to change what is
 * append-only, and no statement may run for ever.
 * @throws CodedError `configuration_invalid` that says what to set
 */
export async function checkPooled(database: Database, statementTimeoutMs: number): Promise<void> {
  const [row] = await database.query<{ role: string; timeout: string; idle: string }>(
    `SELECT current_user AS role, current_setting('statement_timeout') AS timeout,
       current_setting('idle_in_transaction_session_timeout') AS idle`,
  );
  if (row?.role === 'lemniscate_app' && row.timeout !== '0' && row.idle !== '0') return;
  throw new CodedError(
    'configuration_invalid',
    `Connections of the pooler in DATABASE_URL work as ${row?.role}, with statement_timeout ${row?.timeout} and idle_in_transaction_session_timeout ${row?.idle}. Have the pooler run this when it connects (PgBouncer: connect_query): SET ROLE lemniscate_app; SET statement_timeout = ${statementTimeoutMs}; SET idle_in_transaction_session_timeout = ${2 * statementTimeoutMs}`,
  );
}

const corked = new WeakSet<PoolClient>();

/**
 * What is asked in one turn of the event loop leaves as one write. The driver writes once a statement, and writing to
 * sockets was 40 % of what a dispatcher did under load.
 */
function inOneWrite(client: PoolClient): void {
  if (corked.has(client)) return;
  const { stream } = client.connection;
  corked.add(client);
  stream.cork();
  process.nextTick(() => {
    corked.delete(client);
    stream.uncork();
  });
}

/** Statements that are kept prepared, by text. Texts are constants of ours; one that is built at run time stays unnamed beyond this. */
const mostPrepared = 500;
const names = new Map<string, string>();

/**
 * A name keeps a statement parsed and, after some runs, planned on its connection: parsing and planning were more than
 * half of what Postgres did for a session. Statements without values travel by the simple protocol, which has no names.
 */
function nameOf(text: string, values: readonly unknown[]): { readonly name?: string } {
  if (values.length === 0) return {};
  const known = names.get(text);
  if (known !== undefined) return { name: known };
  if (names.size >= mostPrepared) return {};
  const name = `s${names.size}`;
  names.set(text, name);
  return { name };
}

function isBroken(error: unknown): boolean {
  return error instanceof CodedError && error.code === 'service_unreachable';
}

const timestamptz = 1184;
const int8 = 20;

// int8 as a number: positions, counts and bytes of ours stay far below 2^53. Times as text with milliseconds.
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === timestamptz) return (value) => new Date(value).toISOString();
  if (oid === int8) return Number;
  return format === 'binary'
    ? types.getTypeParser(oid, 'binary')
    : (types.getTypeParser(oid, 'text') as (value: string) => unknown);
}
