import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { wirePaths } from './protocol.ts';

const listenDeadlineMs = 10_000;

/** Connections that a sandbox may have open at once, whatever its supervisor says; more are closed unseen. */
const maxConnections = 64;

/** What is listened for. */
interface Listening {
  readonly sandboxId: string;
  readonly port: number;
  readonly onConnection: (connection: Duplex) => void;
  /** Ends the listening and every connection. */
  readonly signal: AbortSignal;
}

/** Has the supervisor listen on a port of the sandbox and takes its connections. @throws CodedError `sandbox_lost` */
export function listenInside(session: ClientHttp2Session, listening: Listening): Promise<void> {
  const { sandboxId, port, signal } = listening;
  return new Promise((resolve, reject) => {
    const lost = (why: string): void => {
      clearTimeout(timer);
      reject(new CodedError('sandbox_lost', `Sandbox ${sandboxId} does not listen on ${port}: ${why}.`));
    };
    const timer = setTimeout(() => {
      lost(`nothing within ${listenDeadlineMs} ms`);
      stream?.close(constants.NGHTTP2_CANCEL);
    }, listenDeadlineMs);
    let stream: ClientHttp2Stream | undefined;
    try {
      stream = open(session, `${wirePaths.loopback}${port}`, signal);
    } catch (error) {
      return lost(error instanceof Error ? error.message : String(error));
    }
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) return lost(`status ${String(headers[':status'])}`);
      clearTimeout(timer);
      resolve();
    });
    stream.on('close', () => lost('the stream closed'));
    takeConnections(session, stream, listening);
  });
}

function takeConnections(session: ClientHttp2Session, stream: ClientHttp2Stream, listening: Listening): void {
  let count = 0;
  let held = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    for (; held.length >= 4; held = held.subarray(4)) {
      if (count >= maxConnections) continue;
      const connection = take(session, held.readUInt32BE(0), listening.signal);
      if (connection === null) return;
      count += 1;
      connection.on('close', () => {
        count -= 1;
      });
      listening.onConnection(connection);
    }
  });
}

function take(session: ClientHttp2Session, id: number, signal: AbortSignal): ClientHttp2Stream | null {
  try {
    const stream = open(session, `${wirePaths.connections}${id}`, signal);
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) stream.close(constants.NGHTTP2_CANCEL);
    });
    return stream;
  } catch {
    return null; // the session is gone, and the sandbox' `ended` says why
  }
}

function open(session: ClientHttp2Session, path: string, signal: AbortSignal): ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST', ':path': path }, { endStream: false, signal });
  stream.on('error', () => stream.destroy());
  return stream;
}
