import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { createCertificateIssuer } from '@lemniscate/dispatcher/adapters/certificate-issuer.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { sessionOrderSchema } from '@lemniscate/shared/protocol/session-order.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { drawFault, drawMs } from './plan.ts';
import type { SimulationPlan } from './plan.ts';
import { createSimulatedServer, sayLittle } from './simulated-server.ts';
import type { Said, SimulatedServer, TakenOrder } from './simulated-server.ts';

export interface SimulatedFleetOptions {
  readonly plan: SimulationPlan;
  /** PEM files of the fleet's authority, which signs a certificate for each server. */
  readonly ca: string;
  readonly caKey: string;
  /** Where the dispatchers take heartbeats, events and results; servers are spread over them. */
  readonly dispatcherUrls: () => readonly string[];
  readonly onTaken?: (order: TakenOrder) => void;
  readonly onFault?: (what: string) => void;
  /** What servers send instead of their status: as an older or a newer version would. */
  readonly dressStatus?: (status: ServerStatus) => object;
  /** How servers read orders, as their version does; absent: as this one. */
  readonly readOrder?: (body: unknown) => SessionOrder;
  /** How servers read the answer to a heartbeat beside; absent: as this version does. */
  readonly readHeartbeat?: (answer: unknown) => void;
  /** What servers say on a session, as their version does; absent: the least that this one can say. */
  readonly saysOn?: (order: SessionOrder) => readonly Said[];
  /** Sessions go on from their orders when this resolves; absent: at once. */
  readonly mayGoOn?: () => Promise<void>;
}

/** Agent servers without sandboxes: the real protocol over real mutual TLS. */
export interface SimulatedFleet {
  readonly servers: readonly SimulatedServer[];
  /** As AGENT_SERVERS takes them. */
  readonly addresses: readonly string[];
  startHeartbeats(): void;
  close(): Promise<void>;
}

/**
 * Starts thousands of servers in one process. They share one port and one key, and each has an address of its own out of
 * 127.0.0.0/8 (Linux answers on all of them) and a certificate that names it: which one is called is known before the
 * handshake, by the address that was called.
 */
export async function startSimulatedFleet(options: SimulatedFleetOptions): Promise<SimulatedFleet> {
  const { plan } = options;
  const ca = readFileSync(options.ca, 'utf8');
  const issue = createCertificateIssuer(ca, options.caKey, systemClock);
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyPem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const random = seededRandom(plan.seed);
  const byAddress = new Map<string, { server: SimulatedServer; context: SecureContext }>();
  const agents: Agent[] = [];

  for (let index = 0; index < plan.servers; index += 1) {
    const name = `sim-${plan.seed}-${index}`;
    const cert = await issue({ serverId: name, publicKeyPem, validForMs: 7 * 86_400_000 });
    const agent = new Agent({
      ca,
      cert,
      key,
      keepAlive: true,
      maxSockets: 4,
      checkServerIdentity: () => undefined,
    });
    agents.push(agent);
    const server = createSimulatedServer({
      name,
      plan,
      agent,
      dispatcherUrl: () => {
        const urls = options.dispatcherUrls();
        return urls[index % Math.max(1, urls.length)] ?? null;
      },
      drawFault: () => drawFault(plan.faults, random),
      drawStartMs: () => drawMs(plan.start, random),
      drawWorkMs: () => drawMs(plan.work, random),
      onTaken: options.onTaken ?? (() => undefined),
      onFault: options.onFault ?? (() => undefined),
      dressStatus: options.dressStatus ?? ((status) => status),
      readOrder: options.readOrder ?? ((body) => sessionOrderSchema.parse(body)),
      readHeartbeat: options.readHeartbeat ?? (() => undefined),
      saysOn: options.saysOn ?? sayLittle,
      mayGoOn: options.mayGoOn ?? (() => Promise.resolve()),
    });
    byAddress.set(addressOf(index), { server, context: createSecureContext({ ca, cert, key }) });
  }

  const serverOf = new WeakMap<Socket, SimulatedServer>();
  const http = createServer((request, reply) => {
    answer(serverOf.get(request.socket), request, reply, options.dressStatus).catch(() => reply.destroy());
  });
  const open = new Set<Socket>();
  const tcp = createTcpServer((socket) => {
    const found = byAddress.get(socket.localAddress ?? '');
    if (found === undefined) {
      socket.destroy();
      return;
    }
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    const secured = new TLSSocket(socket, {
      isServer: true,
      secureContext: found.context,
      requestCert: true,
      // Whom it serves is no matter here: the dispatcher's side of the check is what is exercised.
      rejectUnauthorized: false,
    });
    serverOf.set(secured, found.server);
    secured.on('error', () => socket.destroy());
    secured.on('secure', () => http.emit('connection', secured));
  });
  tcp.listen(0, '0.0.0.0');
  await once(tcp, 'listening');
  const address = tcp.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const servers = [...byAddress.values()].map(({ server }) => server);
  return {
    servers,
    addresses: [...byAddress.keys()].map(
      (ip) => `https://${ip}:${address.port}${plan.pool === 'default' ? '' : `;pool=${plan.pool}`}`,
    ),
    startHeartbeats: () => {
      // Spread over the interval: thousands that all speak in the same millisecond are no fleet.
      for (const [index, server] of servers.entries())
        server.startHeartbeats((index / servers.length) * plan.heartbeatMs);
    },
    close: async () => {
      for (const server of servers) server.stop();
      for (const agent of agents) agent.destroy();
      for (const socket of open) socket.destroy();
      tcp.close();
      http.close();
      await once(tcp, 'close');
    },
  };
}

/** 127.1.0.1 and on; 0 and 255 at the end are left out. */
function addressOf(index: number): string {
  return `127.${1 + Math.floor(index / 63_500)}.${Math.floor(index / 254) % 250}.${1 + (index % 254)}`;
}

async function answer(
  server: SimulatedServer | undefined,
  request: IncomingMessage,
  reply: ServerResponse,
  dressStatus: SimulatedFleetOptions['dressStatus'],
): Promise<void> {
  if (server === undefined) return void reply.destroy();
  const url = new URL(request.url ?? '/', 'https://server');
  const send = (code: number, body: unknown): void => {
    reply.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (url.pathname === '/status') return send(200, dressStatus?.(server.status()) ?? server.status());
  const sessionId = url.pathname.split('/')[2] ?? '';
  if (request.method === 'DELETE') {
    server.remove({ sessionId, attempt: Number(url.searchParams.get('attempt')) });
    return send(202, {});
  }
  const given = server.take(JSON.parse(await text(request)));
  if (given.kind === 'cut') return void reply.destroy();
  send(given.status, given.body);
}
