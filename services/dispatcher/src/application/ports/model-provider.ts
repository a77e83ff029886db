/** One exchange as the gateway passes it on: the allow-listed body and headers, never a sandbox' own token. */
export interface ModelRequest {
  /** The parsed JSON body of `POST /v1/messages`. */
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
  /** Ends in all cases: with the answer, or by throwing when the connection broke, idled out or was aborted. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A place that runs models. One file a provider, one registry line, one contract suite. */
export interface ModelProvider {
  /** Name in usage rows and price book, for example `anthropic`. */
  readonly name: string;
  /** The form of requests and answers. */
  readonly wire: 'anthropic-messages';
  /**
   * Sends one request. Retries happen only before the first byte of an answer.
   * @throws CodedError `provider_timeout` or `provider_failed` when no answer began
   */
  send(request: ModelRequest): Promise<ModelResponse>;
}
