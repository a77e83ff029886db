import type { Secret } from '@lemniscate/shared/config/secret.ts';
import type { ModelEndpoint } from '../../application/ports/model-provider.ts';

/** How an API over HTTP is spoken to. */
export interface Dialect {
  /** Path of each endpoint below the provider's address. */
  readonly paths: Readonly<Partial<Record<ModelEndpoint, string>>>;
  /** Headers of the client that reach the API. */
  readonly passedOn: readonly string[];
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  authorise(key: Secret): Readonly<Record<string, string>>;
}

/** The APIs that providers and compatible servers have. */
export const dialects = {
  anthropic: {
    paths: { 'anthropic-messages': '/v1/messages', 'anthropic-count': '/v1/messages/count_tokens' },
    passedOn: ['anthropic-version', 'anthropic-beta', 'accept'],
    headers: { 'anthropic-version': '2023-06-01' },
    authorise: (key) => ({ 'x-api-key': key.reveal() }),
  },
  openai: {
    paths: { 'openai-responses': '/v1/responses', 'openai-chat': '/v1/chat/completions' },
    passedOn: ['accept'],
    headers: {},
    authorise: (key) => ({ authorization: `Bearer ${key.reveal()}` }),
  },
} as const satisfies Readonly<Record<string, Dialect>>;

export type DialectName = keyof typeof dialects;
