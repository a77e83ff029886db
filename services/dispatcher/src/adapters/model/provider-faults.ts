import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

// 529 is how the Messages API says that it is overloaded. Other 5xx may follow work that was done and billed.
const retriedStatuses = new Set([429, 502, 503, 529]);
/**
 * Faults before a connection stood: nothing was sent. A reset afterwards is not retried here, for the request may have
 * been served and billed; whoever asked repeats it under a usage row of its own.
 */
const connectFaults = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const timeouts = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

const firstWaitMs = 500;
const longestWaitMs = 20_000;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether a thrown fault came before anything was sent. */
export function mayRetry(error: unknown): boolean {
  return connectFaults.has(codeOf(error));
}

function readRetryAfter(header: string | string[] | undefined, clock: Clock): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now().getTime());
}

/** Milliseconds to wait before the next attempt; undefined when the answer is one to hand on. */
export function waitBefore(
  attempt: number,
  status: number,
  retryAfter: string | string[] | undefined,
  clock: Clock,
): number | undefined {
  if (!retriedStatuses.has(status)) return undefined;
  return readRetryAfter(retryAfter, clock) ?? Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
}

/** Names a fault of the connection; an abort of ours and a coded error stay what they are. */
export function toProviderError(error: unknown, provider: string): unknown {
  if (isCodedError(error) || (error instanceof Error && error.name === 'AbortError')) return error;
  const code = codeOf(error);
  if (timeouts.has(code)) {
    return new CodedError(
      'provider_timeout',
      `${provider} did not answer in time (${code}).`,
      { code },
      error,
    );
  }
  const what = code === '' ? String(error) : code;
  return new CodedError(
    'provider_failed',
    `The connection to ${provider} failed (${what}).`,
    { code },
    error,
  );
}
