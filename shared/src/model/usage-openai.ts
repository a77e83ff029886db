import { areCounts, asCount, asObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { noTokens } from './usage.ts';
import type { ServedTier, TokenBuckets } from './usage.ts';

/** The names that the two APIs give the same numbers. */
export interface OpenAiNames {
  readonly input: string;
  readonly output: string;
  readonly inputDetails: string;
  readonly outputDetails: string;
}

/** Compatible servers tell it in places of their own: Moonshot, DeepSeek (hits of its cache), xAI. */
const cachedPlaces = ['cached_tokens', 'prompt_cache_hit_tokens', 'cached_prompt_text_tokens'];

function cachedIn(details: Json | undefined, usage: Json): number {
  const told = [details?.['cached_tokens'], ...cachedPlaces.map((place) => usage[place])];
  return told.map(asCount).find((count) => count !== undefined) ?? 0;
}

/**
 * Reasoning is a part of the output. Grok's Chat API tells it beside the output, and its total shows it:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
 */
function readOutput(usage: Json, names: OpenAiNames): number {
  const output = asCount(usage[names.output]) ?? 0;
  const reasoning = asCount(asObject(usage[names.outputDetails])?.['reasoning_tokens']) ?? 0;
  const input = asCount(usage[names.input]) ?? 0;
  return asCount(usage['total_tokens']) === input + output + reasoning ? output + reasoning : output;
}

/**
 * OpenAI's input includes what the cache served and took: the uncached rest is what remains. Reasoning, audio and
 * predicted tokens are parts of the output already and are not added. There are no one-hour writes.
 */
export function readOpenAiTokens(usage: Json, names: OpenAiNames): TokenBuckets {
  const details = asObject(usage[names.inputDetails]);
  const input = asCount(usage[names.input]);
  const cacheReadTokens = Math.min(cachedIn(details, usage), input ?? Number.POSITIVE_INFINITY);
  const uncached = input === undefined ? undefined : input - cacheReadTokens;
  const written = asCount(details?.['cache_write_tokens']) ?? 0;
  const cacheWriteTokens = Math.min(written, uncached ?? written);
  return {
    ...noTokens,
    inputTokens: uncached === undefined ? 0 : uncached - cacheWriteTokens,
    outputTokens: readOutput(usage, names),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/** A total that was never told, and a number that no provider can mean, leave the answer a lower bound. */
export function isBelievable(usage: Json, names: OpenAiNames): boolean {
  const details = asObject(usage[names.inputDetails]);
  const input = asCount(usage[names.input]);
  return (
    input !== undefined &&
    asCount(usage[names.output]) !== undefined &&
    areCounts(details, 'cached_tokens', 'cache_write_tokens') &&
    areCounts(usage, ...cachedPlaces) &&
    cachedIn(details, usage) + (asCount(details?.['cache_write_tokens']) ?? 0) <= input
  );
}

/** What xAI counts of sources and tools, which it bills by number. */
export function countsOtherFees(usage: Json | undefined): boolean {
  return ['num_sources_used', 'num_server_side_tools_used'].some((name) => Number(usage?.[name]) > 0);
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
