import { readFileSync } from 'node:fs';
import { connect as connectTcp, isIP } from 'node:net';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { toCef } from '@lemniscate/shared/audit/cef.ts';
import { checkpointEvent, entryEvent, plainRecord } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { OutgoingEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import { mappingOf } from '@lemniscate/shared/audit/receiver-mapping.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RefusedEntry, Sink } from '../application/ports/sink.ts';

export interface SyslogOptions {
  readonly host: string;
  readonly port: number;
  readonly caFile?: string | undefined;
  /** Client certificate and key, where the receiver asks for one. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly format?: 'json' | 'cef' | undefined;
  /** Largest message that the receiver takes whole; one above it would be cut and its rest become a second event. */
  readonly mostBytes?: number | undefined;
}

/** How long the receiver must keep the connection behind the last byte before our close counts. */
const [leastQuietMs, mostQuietMs] = [50, 2_000];
/** An alert has 24 bytes in TLS 1.3 and at most 64 before; a ticket that comes late has more. */
const mostAlertBytes = 64;

/** Facility 13, "log audit" (RFC 5424 table 1). */
const auditFacility = 13;

/**
 * Syslog over TLS with octet counting (RFC 5424, RFC 5425). The protocol has no acknowledgement. What comes nearest, and is
 * what this sink takes for proof: a connection a batch, closed by us behind the last byte, and the receiver's own close
 * in answer, said in TLS (`close_notify`, which RFC 5425 section 4.4 asks for): it has read everything up to there. A reset,
 * a close that comes before ours or is not said, or none in time, and the batch comes again. Two soaks of 200,000 entries
 * taught this: a receiver that closed in the middle lost what it had not read, for its close looked like an answer. Ours
 * waits for a moment behind the last byte since the first; a busy receiver that fell over behind that moment lost 480
 * entries in the second, and what falls over does not say so.
 */
export function createSyslogSink(options: SyslogOptions): Sink {
  const { host, port, mostBytes = 64 * 1024 } = options;
  const place = `${host}:${port}`;
  const sockets = new Set<TLSSocket>();
  let isOpen = false;

  const send = async (messages: readonly string[], signal: AbortSignal): Promise<void> => {
    if (!isOpen) throw new CodedError('internal', `The sink syslog:${place} is not open.`);
    if (messages.length === 0) return;
    await sendAndClose(options, messages, sockets, signal);
  };

  return {
    name: `syslog:${place}`,
    open: () => {
      isOpen = true;
      return Promise.resolve(null);
    },
    deliver: async (batch, signal) => {
      const refused: RefusedEntry[] = [];
      const messages: string[] = [];
      for (const indexed of batch) {
        const message = toSyslog(entryEvent(indexed), options.format);
        const bytes = Buffer.byteLength(message);
        if (bytes <= mostBytes) messages.push(message);
        else refused.push({ index: indexed.index, reason: 'too_large' });
      }
      await send(messages, signal);
      return refused;
    },
    anchor: (checkpoints, signal) =>
      send(
        checkpoints.map((checkpoint) => toSyslog(checkpointEvent(checkpoint), options.format)),
        signal,
      ),
    close: () => {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
      return Promise.resolve();
    },
  };
}

/** The event as one RFC 5424 message, without its frame. */
export function toSyslog(event: OutgoingEvent, format: SyslogOptions['format'] = 'json'): string {
  const { severity } = mappingOf(event.type);
  // syslog counts the other way round: 2 critical, 4 warning, 5 notice, 6 informational
  const level = severity >= 9 ? 2 : severity >= 7 ? 4 : severity >= 5 ? 5 : 6;
  const data = ['id', 'digest', 'prev', 'index'].flatMap((name) => {
    const value = name === 'id' ? event.id : event.integrity[name];
    return value === undefined ? [] : [`${name}="${parameter(value)}"`];
  });
  // 32473 is the private enterprise number that RFC 5612 keeps for examples; the name tells ours apart
  const structured = `[lemniscate@32473 ${data.join(' ')}]`;
  const text = format === 'cef' ? toCef(event) : JSON.stringify(plainRecord(event));
  const server = header(event.server ?? '', 255);
  // the BOM says UTF-8 (section 6.4)
  return `<${auditFacility * 8 + level}>1 ${event.at} ${server} lemniscate - ${header(event.type, 32)} ${structured} \ufeff${text}`;
}

const parameter = (text: string): string => text.replaceAll(/["\\\]]/g, String.raw`\$&`);
const header = (text: string, most: number): string =>
  text.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, most) || '-';

async function sendAndClose(
  { host, port, caFile, certFile, keyFile }: SyslogOptions,
  messages: readonly string[],
  sockets: Set<TLSSocket>,
  signal: AbortSignal,
): Promise<void> {
  const frames = messages.map((message) => `${Buffer.byteLength(message)} ${message}`).join('');
  await new Promise<void>((resolve, reject) => {
    const wire = connectTcp({ host, port });
    const socket = connect({
      host,
      socket: wire,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      minVersion: 'TLSv1.2',
      ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
      ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
      ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
    });
    sockets.add(socket);
    const fail = (why: string, cause?: unknown): void => {
      const sentence = `The syslog receiver ${host}:${port} ${why}. The batch comes again.`;
      reject(new CodedError('service_unreachable', sentence, {}, cause));
      socket.destroy();
      wire.destroy();
    };
    const abort = (): void => fail('did not close the connection in time');
    signal.addEventListener('abort', abort, { once: true });
    const begun = performance.now();
    let answered = false;
    /** Bytes that had come before we closed; null until then. */
    let before: number | null = null;
    socket.once('secureConnect', () => {
      // a handshake is two round trips at least: a close that is under way has arrived by then
      const quietMs = Math.min(mostQuietMs, Math.max(leastQuietMs, performance.now() - begun));
      socket.write(frames, () => {
        setTimeout(() => {
          if (socket.destroyed) return;
          before = wire.bytesRead;
          socket.end();
        }, quietMs);
      });
    });
    socket.once('end', () => {
      if (before === null) return fail('closed the connection by itself');
      // Node tells a close that was said from one that was not by nothing but the bytes on the wire
      const said = wire.bytesRead - before;
      answered = said > 0 && said <= mostAlertBytes;
      if (!answered) fail('broke the connection off');
    });
    wire.once('error', (error) => fail(`failed (${error.message})`, error));
    socket.once('error', (error) => fail(`failed (${error.message})`, error));
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      sockets.delete(socket);
      if (answered) resolve();
      else fail('closed before it had read everything');
    });
    // its answers are none of ours, but its end is seen only behind them
    socket.resume();
  });
}
