import { recordedCallSchema, replayCall } from './replay.ts';
import type { ReplayedCall } from './replay.ts';
import { readPinnedPriceBook } from './genai-prices-book.ts';

const book = readPinnedPriceBook();

/** A server-sent event with a name, as the Messages and Responses APIs write it. */
export function sse(event: { readonly type: string } & Readonly<Record<string, unknown>>): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Replays a call whose plain parts are filled in. */
export function replay(call: Readonly<Record<string, unknown>>): ReplayedCall {
  return replayCall(
    recordedCallSchema.parse({
      id: 'case',
      provider: 'anthropic',
      api: 'messages',
      model: 'claude-sonnet-5',
      at: '2026-11-02T09:00:00Z',
      ...call,
    }),
    book,
  );
}

/** Prices of 1 USD a million input tokens and round multiples, so that a cost can be read off. */
export const roundPrices = (model: string, more: Readonly<Record<string, unknown>> = {}) => ({
  currency: 'USD',
  models: {
    [model]: { perMTok: { input: 1, output: 10, cacheRead: 0.1, cacheWrite5m: 1.25, cacheWrite1h: 2 } },
  },
  ...more,
});
