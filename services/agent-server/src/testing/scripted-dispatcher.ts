import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { permitRequestSchema } from '@lemniscate/shared/protocol/permit.ts';
import type { PermitAnswer, PermitRequest } from '@lemniscate/shared/protocol/permit.ts';
import { nextMessageRequestSchema } from '@lemniscate/shared/protocol/next-message.ts';
import type { NextMessageAnswer, NextMessageRequest } from '@lemniscate/shared/protocol/next-message.ts';
import { serverStatusSchema } from '@lemniscate/shared/protocol/server-status.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { eventBatchSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import {
  objectAddressesRequestSchema,
  sessionResultSchema,
  uploadRequestSchema,
} from '@lemniscate/shared/protocol/session-result.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toProblem } from '@lemniscate/shared/errors/problem.ts';
import { resolveEnvironmentSchema } from '@lemniscate/shared/protocol/environment.ts';
import type { ResolvedEnvironment, ResolveEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import { giveBackSchema, takeCheckpointSchema } from '@lemniscate/shared/protocol/checkpoint.ts';
import type {
  GiveBack,
  TakeCheckpoint,
  TakeCheckpointAnswer,
} from '@lemniscate/shared/protocol/checkpoint.ts';
import type { IssuedCertificate } from './certificates.ts';
import { startPresignedStore } from './presigned-store.ts';
import type { PresignedStore } from './presigned-store.ts';
import { answerScripted } from '@lemniscate/shared/testing/upstream/answer.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import type { ModelRequest } from './scripted-model.ts';

/** A dispatcher for tests of the agent server: real HTTPS and certificates, answers by script, everything recorded. */
export interface ScriptedDispatcher {
  readonly url: string;
  /** The events of all sessions in the order of their numbers; a repeat is counted once, a hole is refused. */
  readonly events: {
    readonly sessionId: string;
    readonly attempt: number;
    readonly event: ServerEvent;
    readonly at: number;
  }[];
  readonly results: {
    readonly sessionId: string;
    readonly attempt: number;
    readonly result: SessionResult;
  }[];
  readonly permits: PermitRequest[];
  readonly modelRequests: ModelRequest[];
  readonly heartbeats: ServerStatus[];
  /** `session:attempt` that are not the session's own any more. */
  readonly stale: Set<string>;
  /** How often a batch came again whose events were known. */
  repeats: number;
  onPermit: (request: PermitRequest) => PermitAnswer;
  onModel: (request: ModelRequest) => ScriptedTurn;
  onNextMessage: (request: NextMessageRequest) => NextMessageAnswer;
  onEnvironment: (needed: ResolveEnvironment) => ResolvedEnvironment;
  /** Looked at before a heartbeat is answered; an error refuses it. */
  onHeartbeat: () => CodedError | null;
  /** Looked at before a result is taken; an error refuses it. */
  onResult: (result: SessionResult) => CodedError | null;
  /** What becomes of a checkpoint; all are recorded. */
  onCheckpoint: (given: TakeCheckpoint) => TakeCheckpointAnswer;
  /**
   * Says what is answered instead, as a dispatcher of another version would: `what` is the last part of the path, `sender` the
   * session and its attempt. What it throws refuses the message.
   */
  instead: (what: string, sender: string, body: unknown, answer: unknown) => unknown;
  readonly checkpoints: { readonly sessionId: string; readonly given: TakeCheckpoint }[];
  readonly givenBack: { readonly sessionId: string; readonly attempt: number; readonly why: GiveBack }[];
  /** Sessions that heartbeats say are to be paused, with the reason. */
  readonly pauses: Map<string, string>;
  readonly store: PresignedStore;
  /** Uploaded bytes by their upload id, once complete. */
  readonly uploads: Map<string, Buffer>;
  leaseMs: number;
  /** Resolves when `look` gives something; looks after every message. */
  until<Value>(look: () => Value | undefined | false, withinMs?: number): Promise<Value>;
  /** Cuts every connection and refuses new ones. */
  goAway(): Promise<void>;
  /** Cuts every connection; new ones are taken and nothing is ever said on them, as behind a line that loses all. */
  fallSilent(): Promise<void>;
  /** Resolves when the server has tried so often to reach a dispatcher that is away. */
  missed(tries: number): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export async function startScriptedDispatcher(
  ca: string,
  own: IssuedCertificate,
): Promise<ScriptedDispatcher> {
  const acknowledged = new Map<string, number>();
  const sockets = new Set<Duplex>();
  const mute = createTcpServer((socket) => {
    sockets.add(socket);
    // Whoever gives up on it may do so the hard way.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  const watchers = new Set<() => void>();
  const server = createServer({
    ca,
    cert: own.cert,
    key: own.key,
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    answer(request, response)
      .catch((error: unknown) => problem(response, error))
      .finally(() => watchers.forEach((look) => look()));
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await listen(0);
  const store = await startPresignedStore();
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await read(request);
    const path = request.url ?? '';
    if (path === '/healthz') return json(response, 200, { status: 'ok' });
    if (path === '/internal/servers/heartbeat') {
      const body: unknown = JSON.parse(text);
      return json(response, 200, self.instead('heartbeat', '', body, beat(body)));
    }
    if (path.startsWith('/model/')) return model(response, path, JSON.parse(text) as ModelRequest);
    const match = /^\/internal\/sessions\/([^/]+)\/attempts\/(\d+)\/([\w/-]+)$/.exec(path);
    if (match === null) throw new CodedError('not_found', `The scripted dispatcher has no ${path}.`);
    const [, sessionId = '', attempt = '', what = ''] = match;
    if (self.stale.has(`${sessionId}:${attempt}`))
      throw new CodedError('attempt_stale', 'Not the session’s attempt.');
    const body: unknown = JSON.parse(text);
    const say = (spoken: unknown): void =>
      json(response, 200, self.instead(what, `${sessionId}:${attempt}`, body, spoken));
    if (what === 'events') return say(ingest(sessionId, Number(attempt), body));
    if (what === 'permits') {
      const asked = permitRequestSchema.parse(body);
      self.permits.push(asked);
      return say(self.onPermit(asked));
    }
    if (what === 'messages') return say(self.onNextMessage(nextMessageRequestSchema.parse(body)));
    if (what === 'result') {
      const result = sessionResultSchema.parse(body);
      const refusal = self.onResult(result);
      if (refusal !== null) throw refusal;
      self.results.push({ sessionId, attempt: Number(attempt), result });
      return say({});
    }
    if (what === 'checkpoints') {
      const given = takeCheckpointSchema.parse(body);
      self.checkpoints.push({ sessionId, given });
      return say(self.onCheckpoint(given));
    }
    if (what === 'give-back') {
      self.givenBack.push({ sessionId, attempt: Number(attempt), why: giveBackSchema.parse(body) });
      return say({ taken: true });
    }
    if (what === 'uploads') return say(store.announce(uploadRequestSchema.parse(body)));
    if (what === 'environment') return say(self.onEnvironment(resolveEnvironmentSchema.parse(body)));
    if (what === 'objects') {
      const { digests } = objectAddressesRequestSchema.parse(body);
      const found = digests.map((sha256) => [sha256, store.contentAddress(sha256)] as const);
      return say({ addresses: Object.fromEntries(found) });
    }
    const completed = /^uploads\/(\w+)\/complete$/.exec(what)?.[1];
    if (completed !== undefined) {
      self.uploads.set(completed, store.complete(completed));
      return say({});
    }
    throw new CodedError('not_found', `The scripted dispatcher has no ${what}.`);
  }

  function beat(body: unknown) {
    const status = serverStatusSchema.parse(body);
    self.heartbeats.push(status);
    const refusal = self.onHeartbeat();
    if (refusal !== null) throw refusal;
    const isStale = (held: { sessionId: string; attempt: number }) =>
      self.stale.has(`${held.sessionId}:${held.attempt}`);
    return {
      leases: status.held
        .filter((held) => !isStale(held))
        .map((held) => ({ ...held, leaseMs: self.leaseMs })),
      stale: status.held.filter(isStale),
      commands: [],
      pauses: status.held.flatMap((held) => {
        const reason = self.pauses.get(held.sessionId);
        return reason === undefined ? [] : [{ ...held, reason }];
      }),
    };
  }

  function ingest(sessionId: string, attempt: number, body: unknown) {
    const batch = eventBatchSchema.parse(body);
    const key = `${sessionId}:${attempt}`;
    const before = acknowledged.get(key) ?? 0;
    if (batch.firstSeq > before + 1) throw new CodedError('conflict', `Events ${before + 1}… are missing.`);
    const fresh = batch.events.slice(before + 1 - batch.firstSeq);
    if (fresh.length < batch.events.length) self.repeats += 1;
    for (const { event } of fresh) self.events.push({ sessionId, attempt, event, at: performance.now() });
    acknowledged.set(key, before + fresh.length);
    return { acknowledgedSeq: before + fresh.length, commands: [] };
  }

  async function model(response: ServerResponse, path: string, request: ModelRequest): Promise<void> {
    self.modelRequests.push(request);
    await answerScripted(response, path, request, self.onModel(request));
  }

  const self: ScriptedDispatcher = {
    url: `https://127.0.0.1:${port}`,
    events: [],
    results: [],
    permits: [],
    modelRequests: [],
    heartbeats: [],
    stale: new Set(),
    repeats: 0,
    onPermit: () => ({ verdict: 'go', decidedBy: 'automation', reasons: [] }),
    onModel: () => ({ blocks: [{ text: 'Nothing to do.' }] }),
    onNextMessage: () => ({ kind: 'end', reason: 'finished' }),
    onHeartbeat: () => null,
    onResult: () => null,
    onEnvironment: () => ({ kind: 'without', why: 'There is none.' }),
    instead: (_what, _sender, _body, answer) => answer,
    onCheckpoint: ({ cause }) => ({ outcome: cause === 'pause' ? 'paused' : 'stored', number: 1 }),
    checkpoints: [],
    givenBack: [],
    pauses: new Map(),
    store,
    uploads: new Map(),
    leaseMs: 15_000,
    until: async (look, withinMs = 30_000) => {
      const found = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => found.reject(new Error(`not seen within ${withinMs} ms: ${String(look)}`)),
        withinMs,
      );
      // Some states (a heartbeat's content) change without a message: looked at twenty times a second as well.
      for (;;) {
        const value = look();
        if (value !== undefined && value !== false) {
          clearTimeout(timer);
          return value;
        }
        const woken = Promise.withResolvers<void>();
        watchers.add(woken.resolve);
        await Promise.race([woken.promise, delay(50), found.promise]);
        watchers.delete(woken.resolve);
      }
    },
    goAway: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    fallSilent: async () => {
      await self.goAway();
      await new Promise<void>((resolve) => void mute.listen(port, '127.0.0.1', resolve));
    },
    missed: async (tries) => {
      const refuser = createTcpServer((socket) => socket.destroy());
      await new Promise<void>((resolve) => void refuser.listen(port, '127.0.0.1', resolve));
      for (let count = 0; count < tries; count += 1) await once(refuser, 'connection');
      await new Promise((resolve) => refuser.close(resolve));
    },
    comeBack: () => listen(port),
    close: async () => {
      await store.close();
      for (const socket of sockets) socket.destroy();
      for (const door of [server, mute])
        if (door.listening) await new Promise((resolve) => door.close(resolve));
    },
  };
  return self;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

function problem(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const document =
    error instanceof CodedError
      ? toProblem(error)
      : toProblem(new CodedError('request_invalid', String(error)));
  json(response, document.status, document);
}

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}
