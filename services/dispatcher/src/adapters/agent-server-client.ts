import type { PeerCertificate } from 'node:tls';
import { Pool } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import { parseServiceUri } from '@lemniscate/shared/protocol/identity.ts';
import { serverStatusSchema } from '@lemniscate/shared/protocol/server-status.ts';
import type { AgentServers, PlacementAnswer, ProbeServer } from '../application/ports/agent-servers.ts';
import type { Log } from '../application/ports/log.ts';
import { isOwnFault } from './own-lag.ts';
import type { OwnLag } from './own-lag.ts';
import { placementOf } from './placement-answer.ts';
import type { ServiceCertificate } from './service-certificate.ts';

export interface AgentServerClientOptions {
  readonly certificate: Pick<ServiceCertificate, 'ca' | 'cert' | 'key'>;
  /** Where a server is reached; null: nobody knows it. */
  readonly addressOf: (serverId: string) => Promise<string | null>;
  readonly log: Log;
  /** Bounds one call from connecting to the last byte. */
  readonly timeoutMs: number;
  readonly ownLag: OwnLag;
}

/** Calls to agent servers that have to be closed. */
export interface AgentServerClient extends AgentServers {
  readonly probe: ProbeServer;
  close(): Promise<void>;
}

/** Connections to one address, and whose certificate answered there. */
interface Line {
  readonly pool: Pool;
  serverId: string | null;
}

/** An answer longer than this is not one of ours. */
const maxAnswerBytes = 16 * 1024 * 1024;

/**
 * Speaks to agent servers over mutual TLS. Who answers is known by the URI in the certificate, not by the host's name:
 * a line that has once shown a server never passes an order to another one.
 */
export function createAgentServerClient(options: AgentServerClientOptions): AgentServerClient {
  const lines = new Map<string, Line>();

  const lineTo = (url: string): Line => {
    const known = lines.get(url);
    if (known !== undefined) return known;
    const line: Line = {
      serverId: null,
      pool: new Pool(url, {
        connections: 8,
        // An order must not stand behind another one on the same connection.
        pipelining: 1,
        keepAliveTimeout: 60_000,
        maxResponseSize: maxAnswerBytes,
        headersTimeout: options.timeoutMs,
        bodyTimeout: options.timeoutMs,
        connect: {
          ca: options.certificate.ca,
          cert: options.certificate.cert,
          key: options.certificate.key,
          timeout: options.timeoutMs,
          minVersion: 'TLSv1.3',
          checkServerIdentity: (_host: string, certificate: PeerCertificate) => {
            const name = agentServerName(certificate);
            if (name instanceof Error) return name;
            if (line.serverId !== null && line.serverId !== name) {
              // A server was exchanged for another: the next look begins anew.
              lines.delete(url);
              return new Error(`${url} was ${line.serverId} and is now ${name}`);
            }
            line.serverId = name;
            return undefined;
          },
        },
      }),
    };
    lines.set(url, line);
    return line;
  };

  const call = async (
    url: string,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown; line: Line }> => {
    const line = lineTo(url);
    const answer = await line.pool.request({
      method,
      path,
      signal: AbortSignal.timeout(options.timeoutMs),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: parseJson(text), line };
  };

  return {
    probe: async (url) => {
      const from = performance.now();
      const late = lateFrom(options);
      const answer = await call(url, 'GET', '/status').catch((error: unknown) => {
        throw unreachable(url, error, late.isOurs(error));
      });
      const answerMs = Math.max(0, performance.now() - from - late.toLeaveOutMs());
      if (answer.status !== 200) throw refused(url, fromProblem(answer.body, answer.status).message);
      const status = serverStatusSchema.safeParse(answer.body);
      if (!status.success || answer.line.serverId === null)
        throw refused(url, 'its status cannot be read; it may be of another version');
      return { serverId: answer.line.serverId, status: status.data, answerMs };
    },
    place: async (serverId, order) => {
      const url = await options.addressOf(serverId);
      if (url === null) return { kind: 'failed', how: 'nobody knows its address', reachable: false };
      const line = lineTo(url);
      if (line.serverId !== null && line.serverId !== serverId)
        return { kind: 'failed', how: `another server answers at ${url}`, reachable: false };
      // Until a certificate has been seen, the handshake of this very call must show the right one.
      line.serverId = serverId;
      const late = lateFrom(options);
      return readPlacement(await settle(call(url, 'PUT', `/sessions/${order.sessionId}`, order)), late);
    },
    destroy: (serverId, held) => {
      const path = `/sessions/${held.sessionId}?attempt=${held.attempt}`;
      void tell(options, serverId, held, (url) => call(url, 'DELETE', path));
    },
    pause: (serverId, held, reason) => {
      const path = `/sessions/${held.sessionId}/commands`;
      void tell(options, serverId, held, (url) =>
        call(url, 'POST', path, { ...held, kind: 'pause', reason }),
      );
    },
    interrupt: async (serverId, held) => {
      const url = await options.addressOf(serverId);
      if (url === null) throw unreachable(serverId, new Error('nobody knows its address'));
      const path = `/sessions/${held.sessionId}/commands`;
      const answer = await call(url, 'POST', path, { ...held, kind: 'interrupt', reason: '' }).catch(
        (error: unknown) => Promise.reject(unreachable(url, error)),
      );
      if (answer.status >= 300) throw fromProblem(answer.body, answer.status);
    },
    close: async () => {
      await Promise.all([...lines.values()].map((line) => line.pool.destroy()));
    },
  };
}

type Call = (
  url: string,
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
) => Promise<{ status: number; body: unknown; line: Line }>;

async function tell(
  options: AgentServerClientOptions,
  serverId: string,
  held: Held,
  call: (url: string) => Promise<unknown>,
): Promise<void> {
  try {
    const url = await options.addressOf(serverId);
    if (url !== null) await call(url);
  } catch (error) {
    // The answer to its next heartbeat, if there is one, tells it the same.
    options.log.debug({ err: error, server: serverId, ...held }, 'a server could not be told');
  }
}

type Settled = { readonly answer: Awaited<ReturnType<Call>> } | { readonly error: unknown };

async function settle(calling: ReturnType<Call>): Promise<Settled> {
  return calling.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
}

/** What this process is late from now on, and whether that may be why a call found no answer in time. */
interface Late {
  /** Of what was measured: nothing while it is little, for it may have passed beside the server's own time. */
  toLeaveOutMs(): number;
  isOurs(error: unknown): boolean;
}

function lateFrom({ ownLag, timeoutMs }: Pick<AgentServerClientOptions, 'ownLag' | 'timeoutMs'>): Late {
  const before = ownLag.lateMs();
  const ms = (): number => ownLag.lateMs() - before;
  return {
    toLeaveOutMs: () => (isOwnFault(ms(), timeoutMs) ? ms() : 0),
    isOurs: (error) => error instanceof Error && /Timeout/i.test(error.name) && isOwnFault(ms(), timeoutMs),
  };
}

function readPlacement(settled: Settled, late: Late): PlacementAnswer {
  if ('error' in settled) {
    const how = faultOf(settled.error);
    if (late.isOurs(settled.error)) return { kind: 'failed', how, reachable: true, isOurs: true };
    // A call that timed out may have been heard; everything else that throws shows a server that is away.
    return { kind: 'failed', how, reachable: isTimeout(settled.error) };
  }
  return placementOf(settled.answer.status, settled.answer.body);
}

function agentServerName(certificate: PeerCertificate): string | Error {
  const uris = (certificate.subjectaltname ?? '').split(', ').filter((name) => name.startsWith('URI:'));
  const parsed = uris.length === 1 ? parseServiceUri((uris[0] ?? '').slice('URI:'.length)) : null;
  if (parsed?.role === 'agent-server') return parsed.name;
  return new Error('the certificate does not name exactly one agent server');
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /Timeout/i.test(error.name) && !/Connect/i.test(error.name);
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed without an error';
  if (isTimeout(error)) return 'no answer in time';
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${error.message}`;
}

function unreachable(url: string, error: unknown, isOurs = false): CodedError {
  return new CodedError(
    'service_unreachable',
    `Agent server at ${url} cannot be reached (${faultOf(error)}). Check AGENT_SERVERS and that it runs.`,
    { url, how: faultOf(error), ...(isOurs ? { isOurs } : {}) },
    error,
  );
}

function refused(url: string, why: string): CodedError {
  return new CodedError('certificate_refused', `Agent server at ${url} does not answer as one: ${why}.`, {
    url,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Not JSON is an answer too: the caller reads its status.
    return error instanceof SyntaxError ? null : undefined;
  }
}
