import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';

/** Whose error shape a client reads. */
export type ErrorShape = 'anthropic' | 'openai';

/** An error as clients of the API read it. */
export interface WireError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The APIs' own types, by our codes; https://platform.claude.com/docs/en/api/errors and OpenAI's error codes guide. */
const types: Readonly<Record<ErrorShape, Partial<Record<ErrorCode, string>>>> = {
  anthropic: {
    request_invalid: 'invalid_request_error',
    request_refused_by_gateway: 'invalid_request_error',
    unauthenticated: 'authentication_error',
    certificate_refused: 'permission_error',
    forbidden: 'permission_error',
    model_unknown: 'not_found_error',
    not_found: 'not_found_error',
    payload_too_large: 'request_too_large',
    attempt_stale: 'permission_error',
    // 402 ends a client at once; a 429 would be retried for minutes.
    budget_exhausted: 'billing_error',
    provider_timeout: 'timeout_error',
    unavailable: 'overloaded_error',
  },
  openai: {
    request_invalid: 'invalid_request_error',
    request_refused_by_gateway: 'invalid_request_error',
    unauthenticated: 'authentication_error',
    certificate_refused: 'permission_error',
    forbidden: 'permission_error',
    model_unknown: 'invalid_request_error',
    not_found: 'invalid_request_error',
    payload_too_large: 'invalid_request_error',
    attempt_stale: 'permission_error',
    budget_exhausted: 'insufficient_quota',
    provider_timeout: 'server_error',
    unavailable: 'server_error',
  },
};
const otherTypes: Readonly<Record<ErrorShape, string>> = { anthropic: 'api_error', openai: 'server_error' };

/** Any fault in the shape that a client of the API understands; what is ours stays without its words. */
export function toWireError(error: unknown, shape: ErrorShape): WireError {
  const coded = isCodedError(error)
    ? error
    : new CodedError('internal', 'The exchange failed for a reason of the fleet; its log has it.');
  const type = types[shape][coded.code] ?? otherTypes[shape];
  const { message, code } = coded;
  return {
    status: coded.code === 'model_unknown' ? 404 : coded.status,
    headers: coded.code === 'unavailable' ? { 'retry-after': '5' } : {},
    body:
      shape === 'anthropic'
        ? { type: 'error', error: { type, message, code } }
        : { error: { type, message, code, param: coded.details['field'] ?? null } },
  };
}
