import type { GatewayExceptions, RequestCheck } from '@lemniscate/shared/model/gateway-check.ts';
import { checkChatRequest } from '@lemniscate/shared/model/gateway-openai-chat.ts';
import { checkResponsesRequest } from '@lemniscate/shared/model/gateway-openai-responses.ts';
import { checkAnthropicCount, checkAnthropicRequest } from '@lemniscate/shared/model/gateway-request.ts';
import { boundAnthropicSearches, boundResponsesSearches } from '@lemniscate/shared/model/web-searches.ts';
import type { BoundedSearches } from '@lemniscate/shared/model/web-searches.ts';
import type { UsageWire } from '@lemniscate/shared/model/usage-meter.ts';
import type { ModelEndpoint } from '../ports/model-provider.ts';
import type { ErrorShape } from './wire-error.ts';

type Json = Readonly<Record<string, unknown>>;

/** How the gateway treats an endpoint of a model API. */
export interface GatewayEndpoint {
  /** Path on the internal listener; the last part is the API's own. */
  readonly path: string;
  readonly errors: ErrorShape;
  /** In which form the answer tells its usage; null: nothing is billed. */
  readonly meter: UsageWire | null;
  /**
   * Whether what a cache served counts against the provider's tokens a minute: at OpenAI it does
   * (https://platform.openai.com/docs/guides/prompt-caching), at Anthropic not
   * (https://platform.claude.com/docs/en/api/rate-limits).
   */
  readonly limitsCacheReads: boolean;
  check(body: unknown, beta: string | undefined, exceptions: GatewayExceptions): RequestCheck;
  /** Most tokens that the answer can have. */
  maxTokens(body: Json): number;
  /** Bounds what the provider bills by number beside the tokens. */
  boundSearches(body: Json): BoundedSearches;
  /** The body as the provider gets it. */
  prepare(body: Json): Json;
}

/**
 * What is reserved for the answer where the request names no bound: the longest output that a model of either API has
 * had (128,000 tokens).
 */
const unboundedTokens = 128_000;

/** The endpoints that the gateway relays, as data. */
export const gatewayEndpoints: Readonly<Record<ModelEndpoint, GatewayEndpoint>> = {
  'anthropic-messages': {
    path: '/model/anthropic/v1/messages',
    errors: 'anthropic',
    meter: 'anthropic-messages',
    limitsCacheReads: false,
    check: checkAnthropicRequest,
    maxTokens: (body) => countOf(body['max_tokens']),
    boundSearches: boundAnthropicSearches,
    prepare: (body) => body,
  },
  'anthropic-count': {
    path: '/model/anthropic/v1/messages/count_tokens',
    errors: 'anthropic',
    meter: null,
    limitsCacheReads: false,
    check: checkAnthropicCount,
    maxTokens: () => 0,
    boundSearches: withoutSearches,
    prepare: (body) => body,
  },
  'openai-responses': {
    path: '/model/openai/v1/responses',
    errors: 'openai',
    meter: 'openai-responses',
    limitsCacheReads: true,
    check: (body, _beta, exceptions) => checkResponsesRequest(body, exceptions),
    maxTokens: (body) => countOf(body['max_output_tokens']),
    boundSearches: boundResponsesSearches,
    // Stored unless told otherwise, and then whoever has the key can read it back.
    prepare: (body) => ({ ...body, store: false }),
  },
  'openai-chat': {
    path: '/model/openai/v1/chat/completions',
    errors: 'openai',
    meter: 'openai-chat',
    limitsCacheReads: true,
    check: (body, _beta, exceptions) => checkChatRequest(body, exceptions),
    maxTokens: (body) => countOf(body['max_completion_tokens'] ?? body['max_tokens']),
    boundSearches: withoutSearches,
    prepare: withUsage,
  },
};

/** No tool of this request runs at the provider. */
function withoutSearches(body: Json): BoundedSearches {
  return { body, most: 0 };
}

function countOf(bound: unknown): number {
  return typeof bound === 'number' && bound > 0 ? bound : unboundedTokens;
}

/** A stream of this API tells its usage only when it is asked to. */
function withUsage(body: Json): Json {
  if (body['stream'] !== true) return body;
  const options = body['stream_options'];
  return {
    ...body,
    stream_options: {
      ...(typeof options === 'object' && options !== null ? options : {}),
      include_usage: true,
    },
  };
}
