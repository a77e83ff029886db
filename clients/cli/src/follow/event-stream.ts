import { setTimeout as delay } from 'node:timers/promises';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { ApiClient } from '../api-client.ts';

export interface FollowOptions {
  readonly sessionId: string;
  /** Position already seen; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** How long the fleet may be away before following is given up. */
  readonly patienceMs: number;
  /** Told once for each interruption. */
  readonly onInterruption?: (error: unknown) => void;
}

const firstPauseMs = 100;
const longestPauseMs = 3_000;
/** The stream has a heartbeat each 10 s: silence three times as long means a dead connection. */
const silenceMs = 30_000;

/**
 * Follows a session to its end through restarts of the dispatcher: each connection goes on after the last position
 * seen, so nothing is lost and nothing comes twice. Ends after the session's end.
 * @throws CodedError `service_unreachable` when the fleet stays away; the fleet's own refusals at once
 */
export async function* followSession(
  client: ApiClient,
  options: FollowOptions,
): AsyncGenerator<PositionedEvent> {
  let after = options.after;
  let awaySince: number | null = null;
  let pause = firstPauseMs;
  for (;;) {
    try {
      for await (const message of connect(client, options, after)) {
        awaySince = null;
        pause = firstPauseMs;
        if (message === 'end') return;
        if (message.position <= after) continue;
        after = message.position;
        yield message;
      }
    } catch (error) {
      options.signal.throwIfAborted();
      if (isCodedError(error) && error.status < 500) throw error;
      if (awaySince === null) options.onInterruption?.(error);
    }
    awaySince ??= performance.now();
    if (performance.now() - awaySince > options.patienceMs)
      throw new CodedError(
        'service_unreachable',
        `The fleet at ${client.url} has been away for ${Math.round(options.patienceMs / 1000)} s. The session goes on without you: lemniscate logs ${options.sessionId} --follow`,
      );
    await delay(pause, undefined, { signal: options.signal });
    pause = Math.min(pause * 2, longestPauseMs);
  }
}

async function* connect(
  client: ApiClient,
  options: FollowOptions,
  after: number,
): AsyncGenerator<PositionedEvent | 'end'> {
  const silence = new AbortController();
  const answer = await client.open(`/v1/sessions/${options.sessionId}/events`, {
    headers: { accept: 'text/event-stream', 'last-event-id': String(after) },
    signal: AbortSignal.any([options.signal, silence.signal]),
    timeoutMs: 24 * 60 * 60 * 1000,
  });
  if (answer.body === null) return;
  const cut = () => silence.abort(new Error('the event stream fell silent'));
  let timer = setTimeout(cut, silenceMs);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(cut, silenceMs);
  };
  const text = answer.body
    .pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          heard();
          controller.enqueue(chunk);
        },
      }),
    )
    .pipeThrough(new TextDecoderStream());
  try {
    for await (const message of text.pipeThrough(new EventSourceParserStream())) {
      if (message.event === 'end') {
        yield 'end';
        return;
      }
      const parsed = positionedEventSchema.safeParse(JSON.parse(message.data));
      // A newer fleet may know events that this client does not; the log keeps them.
      if (parsed.success) yield parsed.data;
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
