import { CodedError, isCodedError } from '../errors/coded-error.ts';
import type { RequestCheck } from './gateway-request.ts';

/** Error types of the Messages API by status. 402 ends a client at once, 401 and 5xx are retried by it. */
const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** An answer in the provider's own error form. */
export interface AnthropicError {
  readonly status: number;
  readonly body: {
    readonly type: 'error';
    readonly error: { readonly type: string; readonly message: string };
  };
}

/** Puts a thrown value into the error form of the Messages API; what is not ours to tell becomes `api_error`. */
export function toAnthropicError(error: unknown): AnthropicError {
  const coded = isCodedError(error)
    ? error
    : new CodedError('internal', 'The gateway failed for a reason of its own; its log has it.');
  const fallback = coded.status < 500 ? 'invalid_request_error' : 'api_error';
  return {
    status: coded.status,
    body: {
      type: 'error',
      error: { type: errorTypes[coded.status] ?? fallback, message: `${coded.message} (${coded.code})` },
    },
  };
}

/** The refusal of a request by the allow-list, as an error. */
export function refusedRequest(check: Extract<RequestCheck, { ok: false }>): CodedError {
  return new CodedError('request_refused_by_gateway', `${check.field}: ${check.reason}.`, {
    field: check.field,
  });
}
