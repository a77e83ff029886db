import type { AnswerBody } from '@lemniscate/shared/model/answer-body.ts';

/**
 * What can be asked of a provider, by the API that the question belongs to. `anthropic-count` only counts a prompt's
 * tokens and is not billed.
 */
export const modelEndpoints = [
  'anthropic-messages',
  'anthropic-count',
  'openai-responses',
  'openai-chat',
] as const;
export type ModelEndpoint = (typeof modelEndpoints)[number];

/** One exchange as the gateway passes it on: the allow-listed body and headers, never a sandbox' own token. */
export interface ModelRequest {
  readonly endpoint: ModelEndpoint;
  /** The parsed JSON body, in the form of the endpoint. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Lower-case names; the provider adds its own key and drops what it does not know. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the client is gone or a deadline has passed; ends the exchange and its body. */
  readonly signal: AbortSignal;
}

/** What came back, relayed byte for byte. Errors of the provider are answers with its own status and shape. */
export interface ModelResponse {
  readonly status: number;
  /** Lower-case names; at least `content-type`. Hop-by-hop headers are gone. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws when the connection broke, idled out or was aborted. */
  readonly body: AnswerBody;
}

/** How much a provider lets through at the same time. Absent: as much as is asked. */
export interface ProviderLimits {
  /** Exchanges that are open at the same time. */
  readonly concurrency?: number | undefined;
  /** Tokens a minute, prompt and answer together. */
  readonly tokensPerMinute?: number | undefined;
}

/** A place that runs models. One file a provider, one registry line, one contract suite. */
export interface ModelProvider {
  /** Name in usage rows, for example `anthropic`. */
  readonly name: string;
  /** Whose prices hold, by their name in the price book; absent: the provider's own. */
  readonly prices?: string;
  /** What it answers; requests and answers have the endpoint's own form. */
  readonly endpoints: ReadonlySet<ModelEndpoint>;
  readonly limits?: ProviderLimits;
  /**
   * Sends one request. Retries happen only before the first byte of an answer.
   * @throws CodedError `provider_timeout` or `provider_failed` when no answer began
   */
  send(request: ModelRequest): Promise<ModelResponse>;
}
