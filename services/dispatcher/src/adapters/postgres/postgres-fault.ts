import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

const connectionFaults = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EPIPE',
]);

/**
 * What ends a connection or lets none begin: connection exceptions (08), an idle transaction that took too long (25P03), a
 * login that is refused (28), no such database (3D000), too many connections (53300), shutdown and start-up (57P01 to
 * 57P05). And a connection that has come to lead to a standby (25006): the next one may lead to the primary.
 */
const unreachableStates = /^(08|28|3D000|25006|25P03|53300|57P0)/;

/**
 * What ended a statement and may not end its next try: transactions that met (40001, 40P01), a lock or an object that is held
 * (55P03, 55006), a server without room (53), a statement out of its time (57014), a disk that errs (58030). The
 * transaction was rolled back.
 */
const passingStates = /^(40001|40P01|55P03|55006|53|57014|58030)/;

/**
 * What the driver threw, as an error that says whether to come again: `service_unreachable` with host, port and database and
 * never the password, where nobody can tell whether a statement was carried out; `unavailable` where it was not. What is
 * neither stays as it is: a fault of ours.
 */
export function mapError(error: unknown, url: URL): unknown {
  if (!(error instanceof Error) || error instanceof CodedError) return error;
  const state = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (isUnreachable(error.message, state)) {
    const place = `${url.hostname}:${url.port === '' ? '5432' : url.port}${url.pathname}`;
    return new CodedError(
      'service_unreachable',
      `Postgres at ${place} cannot be used${state === '' ? '' : ` (${state})`}. Check DATABASE_URL and that the server runs.`,
      { service: 'postgres', place },
      error,
    );
  }
  if (!passingStates.test(state)) return error;
  return new CodedError(
    'unavailable',
    `Postgres did not carry a statement out (${state}), and nothing of it was kept. Ask again; where it goes on, look at the load, the locks and the disk of Postgres.`,
    { service: 'postgres', state },
    error,
  );
}

function isUnreachable(message: string, state: string): boolean {
  return (
    connectionFaults.has(state) ||
    unreachableStates.test(state) ||
    /Connection terminated|connection timeout|timeout exceeded when trying to connect|not queryable|pool after calling end/i.test(
      message,
    )
  );
}
