import type { AttemptClaim } from '../events/live-attempt.ts';
import type { ModelEndpoint, ModelProvider } from '../ports/model-provider.ts';

/** Where a request goes. */
export interface ExchangeTarget {
  readonly provider: ModelProvider;
  readonly model: string;
}

/** A request that has passed every check of the gateway. */
export interface CheckedExchange {
  readonly claim: AttemptClaim;
  readonly project: string;
  readonly endpoint: ModelEndpoint;
  /** The asked model first, then what the policy names instead. */
  readonly targets: readonly [ExchangeTarget, ...ExchangeTarget[]];
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestBytes: number;
  readonly maxTokens: number;
  /** Most searches that the provider may run for it. */
  readonly webSearches: number;
}

/** Where the answer goes. */
export interface AnswerSink {
  begin(status: number, headers: Readonly<Record<string, string>>): void;
  /** Null: go on at once; otherwise to be waited for, since the receiver is slow. */
  write(bytes: Uint8Array): Promise<void> | null;
  end(): void;
  /** The answer broke: the receiver must see that it is not whole. */
  cut(): void;
}
