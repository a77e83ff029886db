import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Whether a port of the loopback address can be listened on right now. */
export async function portIsFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((settle, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? settle(false) : fail(error),
    );
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => settle(true)));
  });
}

// below Linux' ephemeral range (32768 to 60999), so that no outgoing connection takes it between here and the bind
const lowest = 20_000;
const highest = 32_000;

/** A free loopback port; `preferred` when that one is free. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portIsFree(preferred))) return preferred;
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(lowest, highest);
    if (await portIsFree(port)) return port;
  }
  throw new CodedError('port_in_use', `No free port between ${lowest} and ${highest} in 100 tries.`);
}

/** @throws CodedError `port_in_use` when a port that somebody set is taken */
export async function requirePort(port: number, variable: string): Promise<number> {
  if (await portIsFree(port)) return port;
  throw new CodedError(
    'port_in_use',
    `Port ${port} of 127.0.0.1 is taken (${variable}=${port}). Stop what listens there, set another port, or unset ${variable} to have a free one chosen.`,
    { port, variable },
  );
}
