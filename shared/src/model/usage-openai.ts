import { areCounts, asCount, asObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { noTokens } from './usage.ts';
import type { ServedTier, TokenBuckets } from './usage.ts';

/** The names that the two APIs give the same numbers. */
export interface OpenAiNames {
  readonly input: string;
  readonly output: string;
  readonly inputDetails: string;
}

/** Compatible servers tell it in places of their own: Moonshot as `cached_tokens`, DeepSeek as hits of its cache. */
function cachedIn(details: Json | undefined, usage: Json): number {
  const told = [details?.['cached_tokens'], usage['cached_tokens'], usage['prompt_cache_hit_tokens']];
  return told.map(asCount).find((count) => count !== undefined) ?? 0;
}

/**
 * OpenAI's input includes what the cache served and took: the uncached rest is what remains. Reasoning, audio and
 * predicted tokens are parts of the output already and are not added. There are no one-hour writes.
 */
export function readOpenAiTokens(usage: Json, names: OpenAiNames): TokenBuckets {
  const details = asObject(usage[names.inputDetails]);
  const input = asCount(usage[names.input]) ?? 0;
  const cacheReadTokens = cachedIn(details, usage);
  const cacheWriteTokens = asCount(details?.['cache_write_tokens']) ?? 0;
  return {
    ...noTokens,
    inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens),
    outputTokens: asCount(usage[names.output]) ?? 0,
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/** A total that was never told, and a number that no provider can mean, leave the answer a lower bound. */
export function isBelievable(usage: Json, names: OpenAiNames): boolean {
  return (
    asCount(usage[names.input]) !== undefined &&
    asCount(usage[names.output]) !== undefined &&
    areCounts(asObject(usage[names.inputDetails]), 'cached_tokens', 'cache_write_tokens') &&
    areCounts(usage, 'cached_tokens', 'prompt_cache_hit_tokens')
  );
}

/** `auto` is what was asked, not what was served. */
export function openAiTier(serviceTier: string | null): ServedTier {
  return { serviceTier: serviceTier === 'auto' ? null : serviceTier, speed: null, region: null };
}

/** A line of a batch's output file holds the answer as `response.body`. */
export function unwrapBatchLine(answer: Json): Json {
  return asObject(asObject(answer['response'])?.['body']) ?? answer;
}

/** Whether an event or a body is an error of the API, or a batch line that failed. */
export function saysError(answer: Json): boolean {
  return answer['type'] === 'error' || asObject(answer['error']) !== undefined;
}
