import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';

/** An error as clients of the Anthropic API read it. */
export interface AnthropicError {
  readonly status: number;
  readonly body: {
    readonly type: 'error';
    readonly error: { readonly type: string; readonly message: string; readonly code: ErrorCode };
  };
}

/** The provider's own types, by our codes; https://platform.claude.com/docs/en/api/errors. */
const types: Partial<Record<ErrorCode, string>> = {
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
};

/** Any fault in the shape that a client of the provider understands; what is ours stays without its words. */
export function toAnthropicError(error: unknown): AnthropicError {
  const coded = isCodedError(error)
    ? error
    : new CodedError('internal', 'The exchange failed for a reason of the fleet; its log has it.');
  return {
    status: coded.code === 'model_unknown' ? 404 : coded.status,
    body: {
      type: 'error',
      error: { type: types[coded.code] ?? 'api_error', message: coded.message, code: coded.code },
    },
  };
}
