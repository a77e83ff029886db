import { areCounts, asCount, asObject, asObjects, asText } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { addTokens, deduplicate, noTokens } from './usage.ts';
import type { ResponseUsage, TokenBuckets, UsagePart } from './usage.ts';
import type { UsageFold } from './usage-fold.ts';

/** Reads one usage object on top of an earlier one: every number is cumulative, so what is there replaces. */
function readTokens(usage: Json, before: TokenBuckets): TokenBuckets {
  const lifetimes = asObject(usage['cache_creation']);
  const fiveMinutes = asCount(lifetimes?.['ephemeral_5m_input_tokens']);
  const oneHour = asCount(lifetimes?.['ephemeral_1h_input_tokens']);
  const parts =
    fiveMinutes === undefined && oneHour === undefined ? undefined : (fiveMinutes ?? 0) + (oneHour ?? 0);
  const written = asCount(usage['cache_creation_input_tokens']) ?? parts ?? before.cacheWriteTokens;
  return {
    inputTokens: asCount(usage['input_tokens']) ?? before.inputTokens,
    outputTokens: asCount(usage['output_tokens']) ?? before.outputTokens,
    cacheReadTokens: asCount(usage['cache_read_input_tokens']) ?? before.cacheReadTokens,
    cacheWriteTokens: written,
    cacheWrite1hTokens: Math.min(written, oneHour ?? before.cacheWrite1hTokens),
  };
}

const isMessage = (iteration: Json): boolean => iteration['type'] === 'message' || iteration['type'] == null;

/**
 * The samplings of a response. Where `iterations` is given it holds all of them, compaction and advisors included,
 * and the top level does not. Cache numbers that no entry tells are the top level's, and belong to the last message, as
 * does what the top level has grown by since the entries were told.
 */
function readParts({ usage, tokens: total, toldWithIterations }: Draft): UsagePart[] {
  const iterations = asObjects(usage['iterations']);
  if (iterations.length === 0) return [{ model: null, tokens: total }];
  const last = iterations.findLast(isMessage) ?? iterations.at(-1);
  const isTold = (...names: readonly string[]): boolean =>
    iterations.some((iteration) => names.some((name) => iteration[name] != null));
  const untold = {
    ...noTokens,
    ...(isTold('cache_read_input_tokens') ? {} : { cacheReadTokens: total.cacheReadTokens }),
    ...(isTold('cache_creation_input_tokens', 'cache_creation')
      ? {}
      : { cacheWriteTokens: total.cacheWriteTokens, cacheWrite1hTokens: total.cacheWrite1hTokens }),
  };
  const parts = iterations.map((iteration) => {
    const tokens = readTokens(iteration, iteration === last ? untold : noTokens);
    return {
      model: asText(iteration['model']),
      tokens: iteration === last ? addTokens(tokens, growth(toldWithIterations, total)) : tokens,
    };
  });
  return isTold('cache_creation') ? parts : withLifetimes(parts, total.cacheWrite1hTokens);
}

/** What was read and written since; the cache of a prompt is told once. */
function growth(before: TokenBuckets, now: TokenBuckets): TokenBuckets {
  return {
    ...noTokens,
    inputTokens: Math.max(0, now.inputTokens - before.inputTokens),
    outputTokens: Math.max(0, now.outputTokens - before.outputTokens),
  };
}

/** Lays one-hour writes that only the top level tells on the samplings that wrote, the last one first. */
function withLifetimes(parts: readonly UsagePart[], oneHour: number): UsagePart[] {
  let left = oneHour;
  return parts.toReversed().map(laid).toReversed();

  function laid(part: UsagePart): UsagePart {
    const cacheWrite1hTokens = Math.min(left, part.tokens.cacheWriteTokens);
    left -= cacheWrite1hTokens;
    return { ...part, tokens: { ...part.tokens, cacheWrite1hTokens } };
  }
}

/** A total that was never told, and a number that no provider can mean, leave the answer a lower bound. */
function isBelievable(usage: Json): boolean {
  const told = [usage, ...asObjects(usage['iterations'])];
  return (
    asCount(usage['input_tokens']) !== undefined &&
    asCount(usage['output_tokens']) !== undefined &&
    told.every(
      (one) =>
        areCounts(
          one,
          'input_tokens',
          'output_tokens',
          'cache_read_input_tokens',
          'cache_creation_input_tokens',
        ) &&
        areCounts(
          asObject(one['cache_creation']),
          'ephemeral_5m_input_tokens',
          'ephemeral_1h_input_tokens',
        ) &&
        areCounts(asObject(one['server_tool_use']), 'web_search_requests') &&
        // A part that is larger than its whole is another such number.
        (asCount(asObject(one['cache_creation'])?.['ephemeral_1h_input_tokens']) ?? 0) <=
          (asCount(one['cache_creation_input_tokens']) ?? Number.POSITIVE_INFINITY),
    )
  );
}

interface Draft {
  readonly id: string | null;
  readonly model: string | null;
  readonly usage: Json;
  readonly tokens: TokenBuckets;
  /** `tokens` when the samplings that are known were told. */
  readonly toldWithIterations: TokenBuckets;
  readonly complete: boolean;
  /** The beginning of the stream was not seen. */
  readonly beheaded: boolean;
  /** A delta told the output; what the beginning tells of it is the first word of it. */
  readonly outputTold: boolean;
}

/** Fetching costs nothing beside its tokens; whatever else a provider counts may have a fee. */
const freeTools = new Set(['web_search_requests', 'web_fetch_requests']);

function toResponse(draft: Draft): ResponseUsage {
  const { usage } = draft;
  const toolUse = asObject(usage['server_tool_use']) ?? {};
  return {
    responseId: draft.id,
    servedModel: draft.model,
    tier: {
      serviceTier: asText(usage['service_tier']),
      speed: asText(usage['speed']),
      region: asText(usage['inference_geo']),
    },
    parts: readParts(draft),
    webSearches: asCount(toolUse['web_search_requests']) ?? 0,
    otherFees: Object.entries(toolUse).some(([name, count]) => !freeTools.has(name) && Number(count) > 0),
    complete: draft.complete && isBelievable(usage),
  };
}

function startDraft(message: Json, complete: boolean): Draft {
  const usage = asObject(message['usage']) ?? {};
  const tokens = readTokens(usage, noTokens);
  return {
    id: asText(message['id']),
    model: asText(message['model']),
    usage,
    tokens,
    toldWithIterations: tokens,
    complete,
    beheaded: false,
    outputTold: false,
  };
}

function withDelta(draft: Draft, usage: Json): Draft {
  const tokens = readTokens(usage, draft.tokens);
  return {
    ...draft,
    usage: { ...draft.usage, ...withoutSilence(usage) },
    tokens,
    toldWithIterations: asObjects(usage['iterations']).length > 0 ? tokens : draft.toldWithIterations,
    outputTold: draft.outputTold || asCount(usage['output_tokens']) !== undefined,
  };
}

/** Laying null or an empty list over what was told would forget it: members that say nothing are left out. */
function withoutSilence(usage: Json): Json {
  const says = (value: unknown): boolean => value != null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => says(value)));
}

/** Usage of the Anthropic Messages API: streams, bodies and results of message batches. */
export function createAnthropicFold(): UsageFold {
  const finished: ResponseUsage[] = [];
  let current: Draft | undefined;
  let refused = false;
  const endStream = (): void => {
    if (current !== undefined) finished.push(toResponse(current));
    current = undefined;
  };
  const body = (answer: Json): void => {
    const message = asObject(asObject(answer['result'])?.['message']) ?? answer;
    // An error and a batch result that expired or was cancelled carry no usage and are not billed.
    const isServed = message['type'] === 'message' || message['role'] === 'assistant';
    if (asObject(message['usage']) === undefined && !isServed) {
      refused ||= answer['type'] === 'error' || asObject(answer['result']) !== undefined;
      return;
    }
    finished.push(toResponse(startDraft(message, true)));
  };
  return {
    event: (event) => {
      if (event['type'] === 'message_start') {
        endStream();
        current = startDraft(asObject(event['message']) ?? {}, false);
        return;
      }
      if (event['type'] === 'error') refused ||= current === undefined;
      if (event['type'] === 'message_delta') {
        // Without its beginning a stream still tells its output; what the beginning held is missing for good.
        current ??= { ...startDraft({}, false), beheaded: true };
        current = withDelta(current, asObject(event['usage']) ?? {});
      }
      if (event['type'] === 'message_stop' && current !== undefined) {
        current = { ...current, complete: !current.beheaded && current.outputTold };
        endStream();
      }
    },
    done: endStream,
    endStream,
    body,
    refused: () => refused,
    responses: () => deduplicate(current === undefined ? finished : [...finished, toResponse(current)]),
  };
}
