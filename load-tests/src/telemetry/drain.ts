import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector that reads what it is sent and keeps the count of it only. */
export interface Drain {
  readonly url: string;
  /** Bytes of spans since it began. */
  spanBytes(): number;
  close(): void;
}

export async function openDrain(): Promise<Drain> {
  let spanBytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      if (request.url === '/v1/traces') spanBytes += chunk.length;
    });
    request.once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spanBytes: () => spanBytes,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
