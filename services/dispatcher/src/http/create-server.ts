import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { ListenerTls } from './app.ts';
import { closeWhenIdle } from './close-when-idle.ts';

/** A session of HTTP/2 on which no stream is open for so long is closed. */
const idleSessionMs = 5 * 60_000;
/** A connection that is silent for so long is probed by TCP. */
const keepAliveMs = 60_000;
/** Memory of one connection and all its streams, in megabytes: some hundred answers whose receiver is slow. */
const sessionMemoryMb = 64;
/** Streams that one connection may have open. An agent server opens a further connection for more. */
const sessionStreams = 250;

/**
 * The server below a listener. Agent servers speak HTTP/2 where they relay models: a hundred answers share a
 * connection, which takes a third less processor time a chunk than connections of their own and a third of the memory
 * (docs/decisions/2026-11-29-model-answers-over-http2.md). HTTP/1.1 is spoken beside it.
 */
export function createListenerServer(tls: ListenerTls | null, handler: RequestListener): Server {
  if (tls === null) return createServer(handler);
  const { clientCertificates, ...material } = tls;
  const options = {
    ...material,
    minVersion: 'TLSv1.3',
    requestCert: clientCertificates,
    rejectUnauthorized: clientCertificates,
  } as const;
  if (!clientCertificates) return createTlsServer(options, handler);
  const server = createSecureServer(
    {
      ...options,
      allowHTTP1: true,
      // A peer that lost its power in the middle of a request never closes it, and nothing is written to it.
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
      maxSessionMemory: sessionMemoryMb,
      settings: { maxConcurrentStreams: sessionStreams },
    },
    // The request and answer of HTTP/2 have the form of HTTP/1.1's, which is all that the routes use.
    handler as never,
  );
  return closeSessionsWithServer(server) as unknown as Server;
}

/** Sessions would hold a closing server open; they are cut with it, as connections of HTTP/1.1 are. */
function closeSessionsWithServer(server: Http2SecureServer): Http2SecureServer {
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    closeWhenIdle(session, idleSessionMs);
    session.once('close', () => sessions.delete(session));
  });
  const close = server.close.bind(server);
  server.close = (done) => {
    close(done);
    for (const session of sessions) session.destroy();
    return server;
  };
  return server;
}
