import type { WireRequest } from './conversation.ts';

/** The prompt's tokens in disjoint buckets. */
export interface PromptTokens {
  readonly input: number;
  readonly cacheWrite: number;
  readonly cacheRead: number;
}

/** Four bytes a token: the usual rule of thumb for English and code; counted from the real bytes. */
export function tokensOf(value: unknown): number {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/**
 * Shares the prompt out as a provider with automatic prefix caching would: what the exchange before had sent is
 * read from the cache, what has been added except the newest message is written, the newest message is input.
 */
export function countPrompt(request: WireRequest): PromptTokens {
  const lastAssistant = request.messages.findLastIndex((message) => message.role === 'assistant');
  const preamble = [request.system ?? '', request.tools ?? []];
  const newest = request.messages.slice(lastAssistant + 1);
  if (lastAssistant < 0) {
    return { input: tokensOf(newest), cacheWrite: tokensOf(preamble), cacheRead: 0 };
  }
  return {
    input: tokensOf(newest),
    cacheWrite: tokensOf(request.messages[lastAssistant]),
    cacheRead: tokensOf(preamble) + tokensOf(request.messages.slice(0, lastAssistant)),
  };
}
