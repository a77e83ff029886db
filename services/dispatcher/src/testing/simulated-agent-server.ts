import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { heartbeatAnswerSchema } from '@lemniscate/shared/protocol/server-status.ts';
import type { HeartbeatAnswer, ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { nextRequestsAnswerSchema } from '@lemniscate/shared/protocol/server-line.ts';
import { sessionOrderSchema } from '@lemniscate/shared/protocol/session-order.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { TestAuthority } from './certificates.ts';

/** What the server does with an order. `hang`: takes it and never answers. `cut`: takes it and drops the connection. */
export type OrderBehaviour = 'take' | 'full' | 'fail' | 'hang' | 'cut';

export interface SimulatedAgentServer {
  readonly name: string;
  readonly url: string;
  /** Every order that arrived and when, taken or not. */
  readonly orders: readonly { readonly order: SessionOrder; readonly at: number }[];
  readonly held: ReadonlyMap<string, number>;
  readonly destroyed: readonly Held[];
  behaviour: OrderBehaviour;
  /** How its address answers a look at its status: after so many milliseconds, or never. Heartbeats go on. */
  answersStatus: { readonly afterMs: number } | 'never';
  /** Said on top of its ordinary status. */
  says: Partial<ServerStatus>;
  /** Told of each order that was taken. */
  onTaken: (order: SessionOrder) => void;
  heartbeat(): Promise<HeartbeatAnswer>;
  /** Posts to the dispatcher's internal listener with this server's certificate. */
  post(
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: unknown }>;
  startHeartbeats(everyMs: number): void;
  stopHeartbeats(): void;
  /** Fetches its orders until it is closed, as a server does that cannot be called. */
  startFetching(): void;
  /** Ends a session as the server sees it: its slot is free. */
  drop(sessionId: string): void;
  /** A new process: what it held is gone. */
  restart(): void;
  close(): Promise<void>;
}

export interface SimulatedServerOptions {
  readonly name: string;
  readonly capacity: number;
  readonly authority: TestAuthority;
  /** Instead of a certificate of the test's authority, and where to listen: what a joined workstation has. */
  readonly joined?: { readonly certificatePem: string; readonly keyPem: string; readonly port: number };
  /** Known once the dispatcher listens. */
  readonly dispatcherUrl: () => string;
}

/** An agent server without sandboxes: the real protocol over real mutual TLS, with faults to order. */
export async function startSimulatedAgentServer(
  options: SimulatedServerOptions,
): Promise<SimulatedAgentServer> {
  const tls = await readIdentity(options);
  const dispatcher = new Agent({ connect: { ...tls, checkServerIdentity: () => undefined } });
  const orders: { order: SessionOrder; at: number }[] = [];
  const held = new Map<string, number>();
  const destroyed: Held[] = [];
  let bootId = randomUUID();
  let timer: NodeJS.Timeout | null = null;
  const closed = new AbortController();

  const status = (): ServerStatus => ({
    protocol: 1,
    bootId,
    capacity: options.capacity,
    held: [...held].map(([sessionId, attempt]) => ({ sessionId, attempt })),
    warm: 0,
    driver: 'simulated',
    profiles: ['default'],
    draining: false,
    ...server.says,
  });
  const post = async (
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: unknown }> => {
    const answer = await request(`${options.dispatcherUrl()}${path}`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const said = await answer.body.text();
    return { status: answer.statusCode, body: said === '' ? null : (JSON.parse(said) as unknown) };
  };
  const server: SimulatedAgentServer = {
    name: options.name,
    url: '',
    orders,
    held,
    destroyed,
    behaviour: 'take',
    answersStatus: { afterMs: 0 },
    says: {},
    onTaken: () => undefined,
    post,
    heartbeat: async () => {
      const answer = await post('/internal/servers/heartbeat', status());
      if (answer.status !== 200)
        throw new Error(`heartbeat: ${answer.status} ${JSON.stringify(answer.body)}`);
      const parsed = heartbeatAnswerSchema.parse(answer.body);
      for (const stale of parsed.stale)
        if (held.get(stale.sessionId) === stale.attempt) held.delete(stale.sessionId);
      return parsed;
    },
    startHeartbeats: (everyMs) => {
      timer ??= setInterval(() => {
        server.heartbeat().catch(() => undefined);
      }, everyMs);
    },
    stopHeartbeats: () => {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
    startFetching: () => {
      // A close in the middle of a turn breaks it off.
      fetchOrders().catch((error: unknown) => {
        if (!closed.signal.aborted) throw error;
      });
    },
    drop: (sessionId) => void held.delete(sessionId),
    restart: () => {
      held.clear();
      bootId = randomUUID();
    },
    close: async () => {
      closed.abort();
      server.stopHeartbeats();
      listener.closeAllConnections();
      listener.close();
      await dispatcher.destroy();
    },
  };
  const listener = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true },
    (incoming, reply) => {
      handle(incoming, reply).catch(() => reply.destroy());
    },
  );
  const fetchOrders = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      const { body } = await post('/internal/servers/line', { waitMs: 1_000 }).catch(() => ({ body: null }));
      if (body === null) return;
      for (const asked of nextRequestsAnswerSchema.parse(body).requests) {
        if (asked.kind === 'take') {
          orders.push({ order: asked.order, at: performance.now() });
          held.set(asked.order.sessionId, asked.order.attempt);
        } else if (asked.kind === 'remove') {
          destroyed.push({ sessionId: asked.sessionId, attempt: asked.attempt });
          held.delete(asked.sessionId);
        }
        await post('/internal/servers/line/answers', { id: asked.id, status: 202 });
      }
    }
  };
  const handle = async (incoming: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const answer = (code: number, body: unknown): void => {
      reply.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const url = new URL(incoming.url ?? '/', 'https://server');
    if (url.pathname === '/status') {
      if (server.answersStatus === 'never') return;
      if (server.answersStatus.afterMs > 0)
        await delay(server.answersStatus.afterMs, undefined, { signal: closed.signal });
      answer(200, status());
      return;
    }
    const sessionId = url.pathname.split('/')[2] ?? '';
    if (incoming.method === 'DELETE') {
      destroyed.push({ sessionId, attempt: Number(url.searchParams.get('attempt')) });
      held.delete(sessionId);
      answer(202, {});
      return;
    }
    const order = sessionOrderSchema.parse(JSON.parse(await text(incoming)));
    orders.push({ order, at: performance.now() });
    if (server.behaviour === 'fail') {
      answer(500, { type: 't', title: 't', status: 500, code: 'internal', detail: 'simulated fault' });
      return;
    }
    if (server.behaviour === 'full' || (held.size >= options.capacity && !held.has(sessionId))) {
      answer(429, { type: 't', title: 't', status: 429, code: 'server_full', detail: 'no slot' });
      return;
    }
    held.set(sessionId, order.attempt);
    server.onTaken(order);
    if (server.behaviour === 'hang') return;
    if (server.behaviour === 'cut') {
      reply.destroy();
      return;
    }
    answer(202, {});
  };
  const port = await listenOn(listener, options.joined?.port ?? 0);
  return Object.assign(server, { url: `https://127.0.0.1:${port}` });
}

async function readIdentity(
  options: SimulatedServerOptions,
): Promise<{ ca: string; cert: string; key: string }> {
  const ca = await readFile(options.authority.ca, 'utf8');
  if (options.joined !== undefined)
    return { ca, cert: options.joined.certificatePem, key: options.joined.keyPem };
  const files = await options.authority.issue(serviceUri('agent-server', options.name));
  return { ca, cert: await readFile(files.cert, 'utf8'), key: await readFile(files.key, 'utf8') };
}

async function listenOn(server: Server, wanted: number): Promise<number> {
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
