import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { App } from './app.ts';

/**
 * Opens a listener.
 * @param variable name of the variable that chose the port, for the error's reader
 * @returns the port, which the system chose where 0 was asked for
 * @throws CodedError `port_in_use`, or `configuration_invalid` for a host that is not this machine's
 */
export async function listen(app: App, host: string, port: number, variable: string): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw explain(error, host, port, variable);
  }
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
}

function explain(error: unknown, host: string, port: number, variable: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new CodedError(
      'port_in_use',
      `Port ${port} on ${host} is taken by another program. Set ${variable} to a free port or end that program.`,
      { port, variable },
      error,
    );
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EACCES')
    return new CodedError(
      'configuration_invalid',
      `Cannot listen on ${host}:${port} (${code}). Check ${variable} and the host beside it.`,
      { port, variable },
      error,
    );
  return error;
}
