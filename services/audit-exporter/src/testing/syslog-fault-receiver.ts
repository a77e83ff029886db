import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { Fault } from './fault-receiver.ts';
import { makeCertificate } from './certificate.ts';

/** A syslog receiver with the manners of the real ones, and their faults. */
export interface SyslogFaultReceiver {
  readonly port: number;
  readonly caFile: string;
  received(): string[];
  disturb(next: () => Fault | null): void;
  faults(): Readonly<Record<string, number>>;
  /** Events that the rest of a message above the limit has become: rsyslog makes a second event of it. */
  bogus(): number;
  close(): Promise<void>;
}

/**
 * Octet counting over TLS on loopback. A message above `mostBytes` is cut and its rest counted as a bogus event. Faults
 * are those that syslog can have: `cut`, `reset`, `slow`, `unavailable`.
 */
export async function startSyslogFaultReceiver(
  folder: string,
  mostBytes: number,
): Promise<SyslogFaultReceiver> {
  const { key, certificate } = makeCertificate(folder);
  const received: string[] = [];
  const counts: Record<string, number> = {};
  const sockets = new Set<TLSSocket>();
  let disturb: () => Fault | null = () => null;
  let pending: Fault | null = null;
  let bogus = 0;

  const keep = (messages: readonly string[]): void => {
    for (const message of messages) {
      if (Buffer.byteLength(message) > mostBytes) bogus += 1;
      const id = /\[lemniscate@32473 id="([^"]+)"/.exec(message.slice(0, mostBytes))?.[1];
      if (id !== undefined) received.push(id);
    }
  };
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    sockets.add(socket);
    const fault = pending;
    const chunks: Buffer[] = [];
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      // what has come whole by then is kept: the sender cannot know
      if (fault === 'cut') {
        keep(messagesIn(Buffer.concat(chunks)));
        socket.destroy();
      }
    });
    socket.on('end', () => {
      keep(messagesIn(Buffer.concat(chunks)));
      if (fault === 'reset') socket.destroy();
      else setTimeout(() => socket.end(), fault === 'slow' ? 250 : 0);
    });
  });
  // one sender, one connection at a time
  server.on('connection', (socket) => {
    pending = disturb();
    if (pending !== null) counts[pending] = (counts[pending] ?? 0) + 1;
    // before the handshake: behind it the data may have been read already, which no sender can tell from being kept
    if (pending === 'unavailable') socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    caFile: certificate,
    received: () => [...received],
    disturb: (next) => {
      disturb = next;
    },
    faults: () => ({ ...counts }),
    bogus: () => bogus,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The whole messages at the beginning of what came (RFC 5425 section 4.3). */
function messagesIn(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, space));
    if (space === -1 || !Number.isSafeInteger(length) || space + 1 + length > bytes.length) break;
    messages.push(bytes.toString('utf8', space + 1, space + 1 + length));
    at = space + 1 + length;
  }
  return messages;
}
