import { z } from 'zod';
import { CodedError } from '../errors/coded-error.ts';
import { costOfCall, isCostLowerBound } from './cost.ts';
import { decimalText } from './decimal.ts';
import { readGivenPriceBook } from './given-price-book.ts';
import { asObject, asText, parseObject } from './json-reading.ts';
import { withKnownIds } from './price-book.ts';
import type { PriceBook } from './price-book.ts';
import { addTokens, isWhole, tokensOf } from './usage.ts';
import type { TokenBuckets } from './usage.ts';
import { createUsageMeter } from './usage-meter.ts';
import type { UsageMeter, UsageWire } from './usage-meter.ts';

const bodySchema = z.record(z.string(), z.unknown());

/** A recorded call: what the provider answered, as raw server-sent events (texts) and JSON bodies (objects). */
export const recordedCallSchema = z.looseObject({
  id: z.string(),
  provider: z.string().min(1),
  api: z.string().min(1),
  model: z.string().min(1),
  at: z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date'),
  request: bodySchema.nullish(),
  stream: z.array(z.union([z.string(), bodySchema])).nullish(),
  body: bodySchema.nullish(),
  prices: z.unknown().optional(),
});
export type RecordedCall = z.infer<typeof recordedCallSchema>;

/** What the call used and cost. */
export interface ReplayedCall extends TokenBuckets {
  readonly id: string;
  /** USD in plain decimal notation; null where a price is missing. */
  readonly costUsd: string | null;
  /** The provider told all numbers itself, and they can be believed. */
  readonly complete: boolean;
  /** Incomplete, or the provider bills something by number (searches, containers) for which there is no price. */
  readonly costIsLowerBound: boolean;
  readonly priced: boolean;
  readonly billableResponses: number;
}

function wireOf(call: RecordedCall): UsageWire {
  // As a name, a path or an endpoint: `chat.completions`, `v1/chat/completions`, `openai-responses`, `beta.messages`.
  if (/messages?(?![a-z])/i.test(call.api)) return 'anthropic-messages';
  if (/responses?(?![a-z])/i.test(call.api)) return 'openai-responses';
  if (/chat|completions?(?![a-z])/i.test(call.api)) return 'openai-chat';
  if (call.provider === 'anthropic') return 'anthropic-messages';
  if (/batch/i.test(call.api)) return batchWire(call);
  throw new CodedError(
    'request_invalid',
    `Call ${call.id}: no usage is known for the API ${call.api}. Use messages, responses or chat.completions.`,
    { call: call.id, api: call.api },
  );
}

/** A batch file says in each line what kind of answer it holds. */
function batchWire(call: RecordedCall): UsageWire {
  const lines = [...(call.stream ?? []), call.body].map((line) =>
    asObject(asObject(asObject(line)?.['response'])?.['body']),
  );
  return lines.some((body) => body?.['object'] === 'chat.completion') ? 'openai-chat' : 'openai-responses';
}

const isEvent = (item: Readonly<Record<string, unknown>>): boolean =>
  item['object'] === 'chat.completion.chunk' ||
  /^(?:message_(?:start|delta|stop)|content_block_\w+|ping|response\..+)$/.test(asText(item['type']) ?? '');

function meter(call: RecordedCall): UsageMeter {
  const usage = createUsageMeter(wireOf(call));
  const items = [...(call.stream ?? []), ...(call.body == null ? [] : [call.body])];
  // A stream that was refused is answered by a body, which a recorder of texts writes as it came.
  const refusal = parseObject(items.filter((item) => typeof item === 'string').join(''));
  if (refusal !== undefined) usage.body(refusal);
  for (const item of items) {
    if (typeof item === 'string') {
      if (refusal === undefined) usage.stream(item);
    } else if (isEvent(item)) usage.event(item);
    // A body stands for an exchange of its own; the text around it is one stream.
    else usage.body(item);
  }
  usage.endStream();
  return usage;
}

/**
 * Meters and prices one recorded call. A call's own `prices` replace the book, which then only tells the ids of a model.
 * @throws CodedError `request_invalid` for an API whose usage is not known, `price_book_invalid` for faulty `prices`
 */
export function replayCall(call: RecordedCall, book: PriceBook): ReplayedCall {
  const usage = meter(call);
  const responses = usage.responses();
  const prices =
    call.prices == null ? book : withKnownIds(readGivenPriceBook(call.prices, call.provider), book);
  const facts = {
    provider: call.provider,
    model: call.model,
    at: Date.parse(call.at),
    batch: /batch/i.test(call.api),
  };
  const cost = costOfCall(responses, facts, prices);
  const complete = isWhole(responses, usage.refused());
  return {
    id: call.id,
    ...withinExactness(addTokens(...responses.map(tokensOf))),
    costUsd: cost === null ? null : decimalText(cost),
    complete,
    costIsLowerBound: isCostLowerBound(complete, responses, facts, prices),
    priced: cost !== null,
    billableResponses: responses.length,
  };
}

/** Numbers that JSON carries exactly; a larger sum, which `isWhole` knows, is told by the largest of them. */
function withinExactness(tokens: TokenBuckets): TokenBuckets {
  const bounded = Object.entries(tokens).map(([name, count]) => [
    name,
    Math.min(Number(count), Number.MAX_SAFE_INTEGER),
  ]);
  return Object.fromEntries(bounded) as TokenBuckets;
}
