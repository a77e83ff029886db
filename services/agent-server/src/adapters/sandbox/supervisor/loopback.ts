import type { ServerHttp2Stream } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import type { Server as TcpServer, Socket as TcpSocket } from 'node:net';

/**
 * Ports of the sandbox' own loopback whose connections the host answers: the only thing here that looks like a
 * network. The host, which alone can open streams, holds one open for each port; on it the supervisor tells the number
 * of each connection, and the host opens a stream for it that carries its bytes.
 */
const waiting = new Map<number, TcpSocket>();
let connectionsMade = 0;

/** Connections of all ports at once; the rest is refused at once, as by a server with a full backlog. */
const maxConnections = 48;
let connectionsOpen = 0;

/** A connection that the host does not take within this is closed. */
const takenWithinMs = 10_000;

/** `/loopback/PORT`: listens until the stream ends. Each connection is four bytes on it, its number. */
export function serveLoopback(stream: ServerHttp2Stream, path: string): void {
  const server: TcpServer = createTcpServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    if (connectionsOpen >= maxConnections || stream.destroyed) return void socket.destroy();
    connectionsOpen += 1;
    connectionsMade += 1;
    const id = connectionsMade;
    const timer = setTimeout(() => socket.destroy(), takenWithinMs);
    waiting.set(id, socket);
    socket.on('close', () => {
      connectionsOpen -= 1;
      clearTimeout(timer);
      waiting.delete(id);
    });
    socket.once('taken', () => clearTimeout(timer));
    const number = Buffer.alloc(4);
    number.writeUInt32BE(id);
    stream.write(number);
  });
  const refuse = (): void => {
    if (!stream.destroyed && !stream.headersSent) stream.respond({ ':status': 409 }, { endStream: true });
  };
  server.on('error', refuse);
  server.listen(Number(path.slice('/loopback/'.length)), '127.0.0.1', () => {
    if (!stream.destroyed) stream.respond({ ':status': 200 });
  });
  stream.on('close', () => server.close());
  stream.resume();
}

/** `/connections/NUMBER`: the bytes of one connection, both ways, each end passed on. */
export function serveConnection(stream: ServerHttp2Stream, path: string): void {
  const id = Number(path.slice('/connections/'.length));
  const socket = waiting.get(id);
  if (socket === undefined) return stream.respond({ ':status': 404 }, { endStream: true });
  waiting.delete(id);
  socket.emit('taken');
  stream.respond({ ':status': 200 });
  socket.pipe(stream);
  stream.pipe(socket);
  stream.on('close', () => socket.destroy());
  socket.on('close', () => stream.close());
}
