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

/** A port that is ours until we let go of it, listened on or not. */
export interface PortClaim {
  readonly port: number;
  release(): void;
}

/**
 * Claims a port among all local fleets of this machine. Between the look at a port and a service's own bind there are
 * seconds: two fleets that started side by side chose the same port, and the one whose dispatcher lost took the other's
 * answer for its own. A claim is an abstract socket: it has the reach of the port, the network namespace, and is gone
 * with its process however that ends.
 * @returns undefined when another fleet has it
 */
async function claim(port: number): Promise<PortClaim | undefined> {
  const holder = createServer();
  const claimed = await new Promise<boolean>((settle, fail) => {
    holder.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? settle(false) : fail(error),
    );
    holder.listen(`\0lemniscate-port-${port}`, () => settle(true));
  });
  if (!claimed) return undefined;
  holder.unref();
  if (await portIsFree(port)) return { port, release: () => void holder.close() };
  holder.close();
  return undefined;
}

// below Linux' ephemeral range (32768 to 60999), so that no outgoing connection takes it between here and the bind
const lowest = 20_000;
const highest = 32_000;

/** A free loopback port; `preferred` when that one is free. */
export async function freePort(preferred?: number): Promise<PortClaim> {
  const wish = preferred === undefined ? undefined : await claim(preferred);
  if (wish !== undefined) return wish;
  for (let tries = 0; tries < 100; tries += 1) {
    const found = await claim(randomInt(lowest, highest));
    if (found !== undefined) return found;
  }
  throw new CodedError('port_in_use', `No free port between ${lowest} and ${highest} in 100 tries.`);
}

/** @throws CodedError `port_in_use` when a port that somebody set is taken */
export async function requirePort(port: number, variable: string): Promise<PortClaim> {
  const claimed = await claim(port);
  if (claimed !== undefined) return claimed;
  throw new CodedError(
    'port_in_use',
    `Port ${port} of 127.0.0.1 is taken (${variable}=${port}). Stop what listens there, set another port, or unset ${variable} to have a free one chosen.`,
    { port, variable },
  );
}
