import type { ModelResponse } from '../../../application/ports/model-provider.ts';
import type { PromptTokens } from './token-count.ts';

export type Json = Readonly<Record<string, unknown>>;

/** What a reply is put into a wire form with. */
export interface ScriptedExchange {
  readonly id: string;
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: PromptTokens;
  readonly signal: AbortSignal;
}

// Deltas as small as those of a real model, so that readers meet split words and split JSON.
export const textDeltaLength = 24;
export const jsonDeltaLength = 18;

/** A text in pieces of so many characters. */
export function pieces(text: string, length: number): string[] {
  const characters = Array.from(text);
  const count = Math.ceil(characters.length / length);
  return Array.from({ length: count }, (_, index) =>
    characters.slice(index * length, (index + 1) * length).join(''),
  );
}

/** An answer out of chunks of text, as server-sent events or as one JSON body. */
export function answerOf(
  chunks: Iterable<string>,
  exchange: Pick<ScriptedExchange, 'id' | 'stream' | 'signal'>,
): ModelResponse {
  return {
    status: 200,
    headers: {
      'content-type': exchange.stream ? 'text/event-stream; charset=utf-8' : 'application/json',
      'request-id': `req_${exchange.id}`,
    },
    body: encode(chunks, exchange.signal),
  };
}

/** One JSON body. */
export function answerJson(status: number, body: Json, signal: AbortSignal): ModelResponse {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: encode([JSON.stringify(body)], signal),
  };
}

async function* encode(chunks: Iterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const chunk of chunks) {
    signal.throwIfAborted();
    yield encoder.encode(chunk);
  }
}
