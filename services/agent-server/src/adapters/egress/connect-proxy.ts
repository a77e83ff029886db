import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { egressAllowed } from '@lemniscate/shared/policy/egress.ts';
import type { EgressRefusal, ServeEgress } from '../../application/ports/egress.ts';
import { isPublicAddress } from './public-address.ts';

/** What the proxy asks of the machine; tests put their own in place of the internet. */
export interface Outside {
  /** Every address of a name. @throws when it has none */
  resolve(host: string): Promise<readonly string[]>;
  isPublic(address: string): boolean;
}

const internet: Outside = {
  resolve: async (host) => (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address),
  isPublic: isPublicAddress,
};

const maxHeadBytes = 8 * 1024;
const headDeadlineMs = 10_000;
const connectDeadlineMs = 15_000;
/** A tunnel through which nothing has passed for so long is closed. */
const idleMs = 5 * 60_000;
/** Names of the bound that HTTP puts on a request line; whoever writes something else gets no explanation of it. */
const connectLine = /^CONNECT ([^\s:]{1,253}):(\d{1,5}) HTTP\/1\.[01]\r\n/;

const answers: Readonly<Record<EgressRefusal, readonly [status: string, text: string]>> = {
  malformed: ['400 Bad Request', 'Only CONNECT host:port is served here.'],
  not_listed: ['403 Forbidden', 'The policy of this project does not name this host and port.'],
  unresolved: ['502 Bad Gateway', 'This name has no address.'],
  private_address: ['403 Forbidden', 'This name leads into a private network.'],
  unreachable: ['502 Bad Gateway', 'The host does not answer.'],
  too_many: ['429 Too Many Requests', 'This session has too many connections open.'],
};

/** Connections of one session at once. */
const maxOpen = 64;

/**
 * A CONNECT proxy for one session: the name must be on the policy's list, every address that it resolves to must be
 * public, and the connection goes to the very address that was looked at, so that a second answer of the name server
 * cannot lead elsewhere. Bytes pass as they are; nothing is read, added or substituted.
 */
export function createServeEgress(outside: Outside = internet): ServeEgress {
  return ({ rules, report, signal }) => {
    let open = 0;
    return (connection) => {
      const refuse = (host: string, port: number, why: EgressRefusal): void => {
        report({ host, port, outcome: 'refused', why });
        const [status, text] = answers[why];
        connection.end(
          `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text) + 1}\r\nconnection: close\r\n\r\n${text}\n`,
        );
      };
      const serve = async (): Promise<void> => {
        if (open >= maxOpen) return refuse('', 0, 'too_many');
        open += 1;
        connection.once('close', () => (open -= 1));
        const head = await readHead(connection);
        const [, host = '', portText = ''] = connectLine.exec(head?.text ?? '') ?? [];
        const port = Number(portText);
        if (head === null || host === '') return refuse('', 0, 'malformed');
        if (!egressAllowed(rules, host, port)) return refuse(host, port, 'not_listed');
        const addresses = await outside.resolve(host).catch(() => []);
        const [address] = addresses;
        if (address === undefined) return refuse(host, port, 'unresolved');
        // one private answer among public ones is somebody trying
        if (!addresses.every((each) => outside.isPublic(each))) return refuse(host, port, 'private_address');
        const socket = await reach(address, port);
        if (socket === null) return refuse(host, port, 'unreachable');
        report({ host, port, outcome: 'connected', address });
        const since = performance.now();
        tunnel(connection, socket, head.rest, signal, () => {
          const durationMs = Math.round(performance.now() - since);
          const { bytesWritten: sentBytes, bytesRead: receivedBytes } = socket;
          report({ host, port, outcome: 'closed', sentBytes, receivedBytes, durationMs });
        });
      };
      connection.on('error', () => connection.destroy());
      if (signal.aborted) return void connection.destroy();
      signal.addEventListener('abort', () => connection.destroy(), { once: true });
      void serve().catch(() => connection.destroy());
    };
  };
}

/** The request's head, and what came behind it; null when none comes in time or it is too long. */
function readHead(connection: Duplex): Promise<{ readonly text: string; readonly rest: Buffer } | null> {
  return new Promise((resolve) => {
    let held = Buffer.alloc(0);
    const settle = (head: { text: string; rest: Buffer } | null): void => {
      clearTimeout(timer);
      connection.off('data', read);
      connection.off('close', gone);
      connection.pause();
      resolve(head);
    };
    const gone = (): void => settle(null);
    const timer = setTimeout(gone, headDeadlineMs);
    const read = (chunk: Buffer): void => {
      held = Buffer.concat([held, chunk]);
      const end = held.indexOf('\r\n\r\n');
      if (end >= 0)
        return settle({ text: held.subarray(0, end + 4).toString('latin1'), rest: held.subarray(end + 4) });
      if (held.length > maxHeadBytes) settle(null);
    };
    connection.on('data', read);
    connection.once('close', gone);
  });
}

/** A connection to an address, never to a name: nothing is resolved again. */
function reach(address: string, port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: connectDeadlineMs });
    const fail = (): void => {
      socket.destroy();
      resolve(null);
    };
    socket.once('connect', () => {
      socket.off('error', fail);
      socket.off('timeout', fail);
      resolve(socket);
    });
    socket.once('error', fail);
    socket.once('timeout', fail);
  });
}

/** Both ways with back-pressure, until either side or the session ends. */
function tunnel(
  inside: Duplex,
  outside: Socket,
  rest: Buffer,
  signal: AbortSignal,
  onClosed: () => void,
): void {
  outside.once('close', onClosed);
  const close = (): void => {
    inside.destroy();
    outside.destroy();
    signal.removeEventListener('abort', close);
  };
  outside.setTimeout(idleMs, close);
  for (const side of [inside, outside]) {
    side.on('error', close);
    side.once('close', close);
  }
  signal.addEventListener('abort', close, { once: true });
  inside.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (rest.length > 0) outside.write(rest);
  inside.pipe(outside);
  outside.pipe(inside);
}
