import type { Dispatcher as UndiciDispatcher } from 'undici';
import { errors } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { askInPieces } from '@lemniscate/shared/model/ask-in-pieces.ts';
import type { Dispatcher } from '../application/ports/dispatcher.ts';
import type { SessionTraces } from '../application/sessions/session-traces.ts';
import { asUnreachable } from './json-caller.ts';

/**
 * A model may read a long transcript for minutes before its first byte, and then sends at least a ping every few
 * seconds; a stream that is silent for longer than this is dead.
 */
const headersTimeout = 5 * 60_000;
const bodyTimeout = 2 * 60_000;

/** The model relay: bytes are handed on as they come, and not read faster than the caller takes them. */
export function createModelRelay(
  agent: UndiciDispatcher,
  origin: string,
  traces: SessionTraces | null = null,
): Dispatcher['relayModel'] {
  return async (relayToken, { path, headers, body }, signal) => {
    const trace = traces?.contextOfToken(relayToken) ?? null;
    const asked = {
      origin,
      path: `/model${path}`,
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'x-api-key': relayToken,
        ...(trace === null ? {} : { traceparent: trace }),
      },
      body,
      headersTimeout,
      bodyTimeout,
    } as const;
    const answer = await askInPieces(agent, asked, signal, (error) => asCut(error, origin, signal)).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw asFault(origin, path, error);
      },
    );
    return {
      status: answer.statusCode,
      contentType: header(answer.headers['content-type']),
      retryAfterMs: retryAfter(header(answer.headers['retry-after'])),
      body: answer.body,
    };
  };
}

const messages = '/anthropic/v1/messages';
const messagesHeaders = { accept: 'text/event-stream', 'anthropic-version': '2023-06-01' };

/** The native loop's own way to the relay. */
export function createModelCaller(relayModel: Dispatcher['relayModel']): Dispatcher['askModel'] {
  return (relayToken, body, signal) =>
    relayModel(relayToken, { path: messages, headers: messagesHeaders, body: Buffer.from(body) }, signal);
}

/** Once an answer has begun, its loss is the exchange's and not proof that the dispatcher is away. */
function asCut(error: unknown, origin: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const why = error instanceof Error ? error.message : String(error);
  return new CodedError(
    'provider_failed',
    `The model's answer was cut: ${why}.`,
    { retryable: true, origin },
    error,
  );
}

function asFault(origin: string, path: string, error: unknown): CodedError {
  if (error instanceof errors.HeadersTimeoutError) {
    return new CodedError(
      'provider_timeout',
      `The model did not begin to answer within ${headersTimeout / 1000} s.`,
    );
  }
  return asUnreachable(origin, path, error);
}

const header = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? (value[0] ?? '') : (value ?? '');

function retryAfter(text: string): number | null {
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
