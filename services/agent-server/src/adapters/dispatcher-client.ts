import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import { Agent } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { takeCheckpointAnswerSchema } from '@lemniscate/shared/protocol/checkpoint.ts';
import { resolvedEnvironmentSchema } from '@lemniscate/shared/protocol/environment.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import { nextRequestsAnswerSchema } from '@lemniscate/shared/protocol/server-line.ts';
import { permitAnswerSchema } from '@lemniscate/shared/protocol/permit.ts';
import { nextMessageAnswerSchema } from '@lemniscate/shared/protocol/next-message.ts';
import { heartbeatAnswerSchema } from '@lemniscate/shared/protocol/server-status.ts';
import { eventBatchAnswerSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { objectAddressesSchema, uploadAnswerSchema } from '@lemniscate/shared/protocol/session-result.ts';
import type { Dispatcher, JournalBatch } from '../application/ports/dispatcher.ts';
import type { SessionTraces } from '../application/sessions/session-traces.ts';
import { serviceUris } from '../domain/peer-role.ts';
import { createJsonCaller } from './json-caller.ts';
import { createModelCaller, createModelRelay } from './model-caller.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Deadlines of whole exchanges, in milliseconds. A permit may be held back by the dispatcher for its `waitMs`. */
const deadlines = {
  heartbeat: 5000,
  events: 15_000,
  permitBeyondWait: 15_000,
  result: 30_000,
  upload: 30_000,
  // The dispatcher reads the whole object again to verify it: up to 5 GiB.
  completeUpload: 10 * 60_000,
};

/** Connections opened ahead: events, permit, model and heartbeat of a session run side by side. */
const warmConnections = 4;

/** Answers of models on one connection; the dispatcher allows so many. */
const maxConcurrentStreams = 250;

/** The dispatcher over HTTPS; both ends show certificates of the fleet's authority. */
export function createDispatcherClient(
  url: string,
  tls: TlsMaterial,
  traces: SessionTraces | null = null,
): Dispatcher {
  const connect = {
    ca: tls.ca,
    cert: tls.cert,
    key: tls.key,
    minVersion: 'TLSv1.3',
    timeout: 5000,
    checkServerIdentity,
  } as const;
  const kept = { keepAliveTimeout: 60_000, keepAliveMaxTimeout: 120_000, connect };
  const agent = new Agent({ ...kept, pipelining: 1, allowH2: false });
  // A model's answer stays open for minutes: a hundred of them share a connection, and none stands behind another.
  const modelAgent = new Agent({ ...kept, allowH2: true, h2Options: { maxConcurrentStreams } });
  const origin = new URL(url).origin;
  const call = createJsonCaller(agent, origin);
  const path = (held: Held, rest: string) =>
    `/internal/sessions/${encodeURIComponent(held.sessionId)}/attempts/${held.attempt}/${rest}`;

  /** A call of a session, below what the session is at. Event batches are too many to be worth a span each. */
  const ask = (held: Held, rest: string, body: unknown, deadlineMs: number, signal: AbortSignal) =>
    call(path(held, rest), body, deadlineMs, signal, traces?.contextOf(held) ?? null);

  const relayModel = createModelRelay(modelAgent, origin, traces);
  return {
    heartbeat: async (status, signal) =>
      heartbeatAnswerSchema.parse(
        await call('/internal/servers/heartbeat', status, deadlines.heartbeat, signal),
      ),
    nextRequests: async (waitMs, signal) =>
      nextRequestsAnswerSchema.parse(
        await call('/internal/servers/line', { waitMs }, waitMs + deadlines.heartbeat, signal),
      ).requests,
    answerRequest: async (answer, signal) => {
      await call('/internal/servers/line/answers', answer, deadlines.heartbeat, signal);
    },
    sendEvents: async (held, batch, signal) =>
      eventBatchAnswerSchema.parse(
        await call(path(held, 'events'), batchBody(batch), deadlines.events, signal),
      ),
    askPermit: async (held, request, signal) =>
      permitAnswerSchema.parse(
        await ask(held, 'permits', request, request.waitMs + deadlines.permitBeyondWait, signal),
      ),
    nextMessage: async (held, request, signal) =>
      nextMessageAnswerSchema.parse(
        await ask(held, 'messages', request, request.waitMs + deadlines.permitBeyondWait, signal),
      ),
    sendResult: async (held, result, signal) => {
      await ask(held, 'result', result, deadlines.result, signal);
    },
    requestUpload: async (held, request, signal) =>
      uploadAnswerSchema.parse(await ask(held, 'uploads', request, deadlines.upload, signal)),
    completeUpload: async (held, uploadId, signal) => {
      const rest = `uploads/${encodeURIComponent(uploadId)}/complete`;
      await ask(held, rest, {}, deadlines.completeUpload, signal);
    },
    takeCheckpoint: async (held, checkpoint, signal) =>
      takeCheckpointAnswerSchema.parse(await ask(held, 'checkpoints', checkpoint, deadlines.result, signal)),
    giveBack: async (held, why, signal) => {
      await ask(held, 'give-back', why, deadlines.result, signal);
    },
    askModel: createModelCaller(relayModel),
    relayModel,
    objectAddresses: async (held, digests, signal) =>
      objectAddressesSchema.parse(await ask(held, 'objects', { digests }, deadlines.upload, signal))
        .addresses,
    resolveEnvironment: async (held, needed, signal) =>
      resolvedEnvironmentSchema.parse(
        await call(path(held, 'environment'), needed, deadlines.upload, signal),
      ),
    warm: async () => {
      // Any answer will do: what counts is the handshake.
      const greet = async (through: Agent) => {
        const answer = await through.request({
          origin,
          path: '/healthz',
          method: 'GET',
          bodyTimeout: 5000,
          headersTimeout: 5000,
        });
        await answer.body.dump();
      };
      await Promise.allSettled(
        [modelAgent, ...Array.from({ length: warmConnections }, () => agent)].map(greet),
      );
    },
    close: async () => {
      await Promise.all([agent.destroy(), modelAgent.destroy()]);
    },
  };
}

/** The events are JSON already; they are not parsed and written again. */
function batchBody(batch: JournalBatch): Buffer {
  const pieces: Uint8Array[] = [Buffer.from(`{"firstSeq":${batch.firstSeq},"events":[`)];
  for (const [index, line] of batch.lines.entries()) {
    if (index > 0) pieces.push(comma);
    pieces.push(line);
  }
  return Buffer.concat([...pieces, close]);
}
const comma = Buffer.from(',');
const close = Buffer.from(']}');

/** Stands in for the host name check: a dispatcher may have any address, but only a certificate that names the role is one. */
function checkServerIdentity(host: string, peer: PeerCertificate): Error | undefined {
  const isDispatcher = serviceUris(new X509Certificate(peer.raw)).some(({ role }) => role === 'dispatcher');
  if (isDispatcher) return undefined;
  return new CodedError(
    'certificate_refused',
    `${host} shows a certificate that names no dispatcher. Check LEMNISCATE_DISPATCHER_URL.`,
  );
}
