import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

/** A line between two services that can be cut and mended. */
export interface TcpProxy {
  readonly port: number;
  /** Drops every connection and refuses new ones. */
  cut(): void;
  mend(): void;
  /** Where new connections lead from now on; several ports take them in turn. */
  pointTo(...ports: readonly number[]): void;
  /** Connections that stand now. */
  connections(): number;
  close(): void;
}

/** Passes everything on to `127.0.0.1:port`. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  let isCut = false;
  let targets: readonly number[] = [port];
  let next = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(targets[next % targets.length] ?? port, '127.0.0.1');
    next += 1;
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut: () => {
      isCut = true;
      dropAll();
    },
    mend: () => {
      isCut = false;
    },
    pointTo: (...ports) => {
      targets = ports;
    },
    connections: () => sockets.size / 2,
    close: () => {
      server.close();
      dropAll();
    },
  };
}
