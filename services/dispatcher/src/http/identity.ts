import type { Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parseServiceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { ServiceRole } from '@lemniscate/shared/protocol/identity.ts';
import type { Authenticator, Person, ServerPeer } from '../application/identity.ts';
import type { LoginFailures } from '../application/access/login-failures.ts';
import { tokenHash } from '../application/access/token-hash.ts';
import type { App } from './app.ts';
import { isOpenRoute } from './access-table.ts';
import { callerAddress } from './caller-address.ts';
import { refuseForeignPage, tokenOf } from './credentials.ts';
import { mcpPath } from './mcp/protected-resource.ts';
import type { OpenAnswers } from './open-answers.ts';

const persons = new WeakMap<FastifyRequest, Person>();
const servers = new WeakMap<FastifyRequest, ServerPeer>();

/** The caller of a public route. Throws on a route that is open to all: a fault of ours. */
export function personOf(request: FastifyRequest): Person {
  const person = persons.get(request);
  if (person === undefined) throw new Error('this route has no person');
  return person;
}

/** The agent server that calls an internal route. */
export function serverOf(request: FastifyRequest): ServerPeer {
  const server = servers.get(request);
  if (server === undefined) throw new Error('this route has no server');
  return server;
}

/** What watches over the logins of a public listener. */
export interface LoginGuards {
  readonly openAnswers?: OpenAnswers;
  readonly failures?: LoginFailures;
}

/**
 * Every public request must carry a login, but for the open routes. They are matched by route pattern, so no other
 * spelling of a path gets past; unknown paths are refused likewise.
 */
export function requirePerson(app: App, authenticator: Authenticator, guards: LoginGuards = {}): void {
  const { openAnswers, failures } = guards;
  const known = createRecentlyKnown();
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    if (route !== undefined && isOpenRoute(request.method, route)) return;
    const sent = tokenOf(request);
    if (sent?.by === 'cookie') refuseForeignPage(request);
    const token = sent?.token ?? null;
    // Somebody with a valid login may share the address of somebody who guesses.
    if (token === null || !known.has(token)) failures?.admit(callerAddress(request));
    const audience = route === mcpPath ? 'mcp' : 'api';
    const person = await authenticator.authenticate(token, audience).catch((error: unknown) => {
      if (isCodedError(error) && error.status === 401) failures?.failed(callerAddress(request), error.code);
      throw error;
    });
    if (token !== null) known.add(token);
    persons.set(request, person);
    openAnswers?.add(person.subject, reply.raw);
  });
}

const maxKnown = 10_000;

/** Tokens that were valid a moment ago, by digest. It lets nobody in: it only spares them the limit on failures. */
function createRecentlyKnown(): { has(token: string): boolean; add(token: string): void } {
  const digests = new Set<string>();
  const digestOf = (token: string): string => tokenHash(token).toString('base64');
  return {
    has: (token) => digests.has(digestOf(token)),
    add: (token) => {
      const digest = digestOf(token);
      digests.delete(digest);
      digests.add(digest);
      const [oldest] = digests;
      if (digests.size > maxKnown && oldest !== undefined) digests.delete(oldest);
    },
  };
}

/** Every internal request must come over a connection whose certificate names an agent server. */
export function requireAgentServer(app: App): void {
  app.addHook('onRequest', async (request) => {
    servers.set(request, { serverId: peerName(connectionOf(request), 'agent-server') });
  });
}

/** The connection of a request. Over HTTP/2 a request's own socket is another object for each stream. */
function connectionOf({ raw }: FastifyRequest): TLSSocket {
  const session = (raw as unknown as Partial<Http2ServerRequest>).stream?.session;
  return (session?.socket ?? raw.socket) as TLSSocket;
}

type ServiceName = ReturnType<typeof parseServiceUri>;

/** What a connection's certificate names. Reading it takes 0.3 ms, and a session asks some fifteen times. */
const namesOfSockets = new WeakMap<TLSSocket, readonly ServiceName[]>();

function namesOf(socket: TLSSocket): readonly ServiceName[] {
  const known = namesOfSockets.get(socket);
  if (known !== undefined) return known;
  const names = (socket.getPeerCertificate().subjectaltname ?? '')
    .split(', ')
    .filter((name) => name.startsWith('URI:'))
    .map((name) => parseServiceUri(name.slice('URI:'.length)));
  // Before TLS 1.3 a peer may renegotiate and show another certificate on the same connection.
  if (socket.getProtocol() === 'TLSv1.3') namesOfSockets.set(socket, names);
  return names;
}

/**
 * The name in the peer's certificate. Asked on each request, not once a connection, so that no route can be reached
 * without the check.
 * @throws CodedError `certificate_refused`
 */
export function peerName(socket: TLSSocket, role: ServiceRole): string {
  const names = namesOf(socket);
  const [name] = names;
  if (names.length === 1 && name?.role === role && socket.authorized) return name.name;
  throw new CodedError(
    'certificate_refused',
    `The certificate must name exactly one ${role} as its URI; it names ${names.length === 0 ? 'none' : names.map((n) => n?.role ?? 'something else').join(', ')}.`,
  );
}
