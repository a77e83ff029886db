import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxCommand, SandboxExecution } from '../../../application/ports/sandbox-driver.ts';
import { joinPipes } from '../supervisor/transport.ts';
import { createFrameBudget, defaultFrameBudget } from './frame-budget.ts';
import type { FrameBudget } from './frame-budget.ts';
import { maxPayloadBytes, wirePaths } from './protocol.ts';
import type { PausableTimer } from '../supervisor/pausable-timer.ts';
import { startCommand } from './command-stream.ts';
import { listenInside } from './loopback-stream.ts';
import type { CommandUser } from './command-stream.ts';

/** Why a wire ended: we closed it, or it broke under us. */
export interface WireEnd {
  readonly broken: boolean;
  readonly reason: string;
}

/** The host's end of a sandbox' wire. */
export interface Wire {
  /** @throws CodedError `request_invalid` when the command cannot be one */
  run(command: SandboxCommand): SandboxExecution;
  /** @throws CodedError `sandbox_lost` */
  listen(port: number, onConnection: (connection: Duplex) => void, signal: AbortSignal): Promise<void>;
  /** @throws CodedError `sandbox_lost` */
  ping(timeoutMs: number): Promise<void>;
  /** @throws CodedError `sandbox_lost` */
  killCommands(timeoutMs: number): Promise<void>;
  /** Commands under way stand still, with their time. @throws CodedError `sandbox_lost` */
  freeze(timeoutMs: number): Promise<void>;
  /** @throws CodedError `sandbox_lost` */
  thaw(timeoutMs: number): Promise<void>;
  /** Settles once, never rejects. */
  readonly closed: Promise<WireEnd>;
  close(): void;
}

export interface WireOptions {
  readonly sandboxId: string;
  /** The sandbox' standard output. */
  readonly input: Readable;
  /** The sandbox' standard input. */
  readonly output: Writable;
  readonly user: CommandUser;
  readonly clock: Clock;
  readonly frameBudget?: FrameBudget;
}

/**
 * Bounds against a hostile peer: 16 MB a session, no push, small headers, no header table that it could grow,
 * few unanswered pings and settings; flow control bounds each stream to its window.
 */
const sessionBounds = {
  maxSessionMemory: 16,
  maxHeaderListPairs: 16,
  maxReservedRemoteStreams: 0,
  maxDeflateDynamicTableSize: 0,
  maxSettings: 16,
  maxSessionInvalidFrames: 10,
  settings: {
    enablePush: false,
    headerTableSize: 0,
    maxHeaderListSize: 4096,
    initialWindowSize: 256 * 1024,
    maxFrameSize: maxPayloadBytes,
  },
} as const;

/** Speaks to the supervisor over the sandbox' standard input and output. */
export function openWire(options: WireOptions): Wire {
  const { input, output, clock, sandboxId } = options;
  const metered = createFrameBudget(options.frameBudget ?? defaultFrameBudget, () => clock.monotonicMs());
  let closing = false;
  let settleClosed: (end: WireEnd) => void = () => undefined;
  const closed = new Promise<WireEnd>((resolve) => {
    settleClosed = resolve;
  });

  input.pipe(metered);
  const transport = joinPipes(metered, output);
  const session = connect('http://sandbox', { createConnection: () => transport, ...sessionBounds });

  const finish = (reason: string): void => {
    settleClosed({ broken: !closing, reason });
    session.destroy();
    transport.destroy();
    metered.destroy();
  };
  session.on('error', (error: Error) => finish(error.message));
  session.on('goaway', () => finish('the supervisor said goodbye'));
  session.on('close', () => finish('the session closed'));
  session.on('stream', (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  for (const part of [transport, metered, input, output]) {
    part.on('error', (error: Error) => finish(error.message));
    part.on('close', () => finish('standard input or output closed'));
  }

  const deadlines = new Set<PausableTimer>();
  const request = (path: string, timeoutMs: number): Promise<void> =>
    exchange(session, sandboxId, path, timeoutMs);

  return {
    closed,
    run: (command) => startCommand(session, command, options.user, clock, deadlines),
    listen: (port, onConnection, signal) => listenInside(session, { sandboxId, port, onConnection, signal }),
    ping: (timeoutMs) => request(wirePaths.ping, timeoutMs),
    killCommands: (timeoutMs) => request(wirePaths.killCommands, timeoutMs),
    freeze: async (timeoutMs) => {
      await request(wirePaths.freeze, timeoutMs);
      for (const deadline of deadlines) deadline.pause();
    },
    thaw: async (timeoutMs) => {
      // Whatever the sandbox does: the host's own bounds count again.
      for (const deadline of deadlines) deadline.resume();
      await request(wirePaths.thaw, timeoutMs);
    },
    close() {
      closing = true;
      finish('closed by the host');
    },
  };
}

/** One request whose answer is its status alone; bounded in time and in what it reads. */
function exchange(
  session: ClientHttp2Session,
  sandboxId: string,
  path: string,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = (why: string): void => {
      clearTimeout(timer);
      reject(new CodedError('sandbox_lost', `Sandbox ${sandboxId} did not answer ${path}: ${why}.`));
    };
    let stream: ClientHttp2Stream | undefined;
    const timer = setTimeout(() => {
      lost(`nothing within ${timeoutMs} ms`);
      stream?.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    try {
      stream = session.request({ ':method': 'POST', ':path': path }, { endStream: true });
    } catch (error) {
      return lost(error instanceof Error ? error.message : String(error));
    }
    const asked = stream;
    asked.on('response', (headers) => {
      clearTimeout(timer);
      if (headers[':status'] === 200) resolve();
      else lost(`status ${String(headers[':status'])}`);
      asked.close();
    });
    asked.on('error', (error) => lost(error.message));
    asked.on('close', () => lost('the stream closed'));
  });
}
