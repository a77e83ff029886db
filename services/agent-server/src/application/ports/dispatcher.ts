import type { AnswerBody } from '@lemniscate/shared/model/answer-body.ts';
import type {
  GiveBack,
  TakeCheckpoint,
  TakeCheckpointAnswer,
} from '@lemniscate/shared/protocol/checkpoint.ts';
import type { ResolvedEnvironment, ResolveEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { PermitAnswer, PermitRequest } from '@lemniscate/shared/protocol/permit.ts';
import type { NextMessageAnswer, NextMessageRequest } from '@lemniscate/shared/protocol/next-message.ts';
import type { LineAnswer, LineRequest } from '@lemniscate/shared/protocol/server-line.ts';
import type { HeartbeatAnswer, ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { EventBatchAnswer } from '@lemniscate/shared/protocol/session-event.ts';
import type {
  SessionResult,
  UploadAnswer,
  UploadRequest,
} from '@lemniscate/shared/protocol/session-result.ts';

/** Events as the journal holds them: each line is the JSON of `{at, event}`. `firstSeq` numbers the first one. */
export interface JournalBatch {
  readonly firstSeq: number;
  readonly lines: readonly Uint8Array[];
}

/** A program's request to a model API, with those of its headers that may pass. */
export interface RelayedRequest {
  /** Below `/model`, such as `/openai/v1/responses`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The head of a model answer, and its bytes as they arrive. */
export interface ModelAnswer {
  readonly status: number;
  readonly contentType: string;
  /** From `retry-after`, null where the provider names none. */
  readonly retryAfterMs: number | null;
  /** Ends or throws CodedError `service_unreachable`/`provider_timeout`; leaving the loop closes the connection. */
  readonly body: AnswerBody;
}

/**
 * The dispatcher as an agent server meets it, over HTTPS with certificates both ways. Every call has a deadline of
 * its own beside the caller's signal, and throws CodedError: `service_unreachable` when no answer came, else the
 * code of the problem document (`attempt_stale` where the attempt is no longer ours).
 */
export interface Dispatcher {
  heartbeat(status: ServerStatus, signal: AbortSignal): Promise<HeartbeatAnswer>;
  /** What the dispatcher asks of a server that it cannot call; none when nothing came within the time. */
  nextRequests(waitMs: number, signal: AbortSignal): Promise<readonly LineRequest[]>;
  answerRequest(answer: LineAnswer, signal: AbortSignal): Promise<void>;
  sendEvents(held: Held, batch: JournalBatch, signal: AbortSignal): Promise<EventBatchAnswer>;
  askPermit(held: Held, request: PermitRequest, signal: AbortSignal): Promise<PermitAnswer>;
  nextMessage(held: Held, request: NextMessageRequest, signal: AbortSignal): Promise<NextMessageAnswer>;
  sendResult(held: Held, result: SessionResult, signal: AbortSignal): Promise<void>;
  requestUpload(held: Held, request: UploadRequest, signal: AbortSignal): Promise<UploadAnswer>;
  completeUpload(held: Held, uploadId: string, signal: AbortSignal): Promise<void>;
  takeCheckpoint(held: Held, checkpoint: TakeCheckpoint, signal: AbortSignal): Promise<TakeCheckpointAnswer>;
  /** The session could not go on here from its checkpoint: it is tried elsewhere. */
  giveBack(held: Held, why: GiveBack, signal: AbortSignal): Promise<void>;
  /** Addresses of contents that the session's attachments name, by digest. */
  objectAddresses(
    held: Held,
    digests: readonly string[],
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
  /** The environment that the session's commit needs, or what its policy wants where there is none. */
  resolveEnvironment(
    held: Held,
    needed: ResolveEnvironment,
    signal: AbortSignal,
  ): Promise<ResolvedEnvironment>;
  /** `POST /model/anthropic/v1/messages`; a status outside 2xx is an answer too, not an error. */
  askModel(relayToken: string, body: string, signal: AbortSignal): Promise<ModelAnswer>;
  /** One exchange of a program that speaks a model's API by itself, at any endpoint of the gateway. */
  relayModel(relayToken: string, request: RelayedRequest, signal: AbortSignal): Promise<ModelAnswer>;
  /** Opens connections before they are needed, so that a session does not wait for handshakes. */
  warm(): Promise<void>;
  close(): Promise<void>;
}
