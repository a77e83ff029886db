import type { JsonValue } from '@lemniscate/shared/json.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NoticeOutcome } from '../../application/ports/notifier.ts';
import type { GuardedFetch } from '../outgoing/guarded-fetch.ts';

/**
 * Posts a body to an address that somebody has typed in, and says what came of it.
 * @param taken reads a 2xx answer where that alone does not say what came of it
 */
export type PostOutside = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
  taken?: (answer: Response) => Promise<NoticeOutcome>,
) => Promise<NoticeOutcome>;

/** A message that is no comment which this place could hold. */
export const notTold: NoticeOutcome = {
  ok: false,
  status: null,
  fault: 'There is nowhere to comment there: the object is no picture of a thing in that system.',
};

/** The document of an answer; null where it is none, or longer than the guard lets in. */
export async function readJson(answer: Response): Promise<JsonValue> {
  try {
    return (await answer.json()) as JsonValue;
  } catch {
    // what was posted is posted, whatever can be read of the answer
    return null;
  }
}

/** Node's codes of what can go wrong on the way, in words that name no address. */
const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nobody listens there.',
  ENOTFOUND: 'Its name is not known.',
  ECONNRESET: 'It hung up.',
  UND_ERR_SOCKET: 'It hung up.',
  UND_ERR_CONNECT_TIMEOUT: 'It could not be reached in time.',
  CERT_HAS_EXPIRED: 'Its certificate has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Its certificate is not from anybody known.',
};

/** Through the guard: public addresses over TLS, unless the operator has named the host. */
export function createPostOutside(guarded: GuardedFetch): PostOutside {
  return async (url, headers, body, signal, taken) => {
    try {
      const answer = await guarded.fetch(url, {
        method: 'POST',
        headers: { 'user-agent': 'lemniscate', ...headers },
        body,
        signal,
      });
      if (taken !== undefined && isTaken(answer)) return await taken(answer);
      await answer.body?.cancel();
      return outcomeOf(answer);
    } catch (error) {
      return { ok: false, status: null, fault: faultOf(error, signal) };
    }
  };
}

const isTaken = ({ status }: Response): boolean => status >= 200 && status < 300;

function outcomeOf(answer: Response): NoticeOutcome {
  const { status, headers } = answer;
  if (isTaken(answer)) return { ok: true, status };
  const seconds = secondsToWait(headers);
  return {
    ok: false,
    status,
    fault: `It answered ${status}.`,
    ...(status === 410 ? { gone: true } : {}),
    ...(seconds === null ? {} : { retryAfterSeconds: seconds }),
  };
}

/** As `Retry-After` says, or GitHub when its hourly limit is used up: both by the receiver's own clock. */
function secondsToWait(headers: Headers): number | null {
  const asked = headers.get('retry-after') ?? '';
  if (/^\d{1,6}$/.test(asked)) return Number(asked);
  const reset = headers.get('x-ratelimit-reset') ?? '';
  if (headers.get('x-ratelimit-remaining') !== '0' || !/^\d{1,12}$/.test(reset)) return null;
  const now = Date.parse(headers.get('date') ?? '');
  const left = Math.ceil(Number(reset) - now / 1_000);
  return left > 0 && left <= 86_400 ? left : null;
}

/** What a person needs to know; nothing that an address may hold, for Slack's is a secret. */
function faultOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'It did not answer in time.';
  let cause: unknown = error;
  while (cause instanceof Error) {
    if (isCodedError(cause, 'forbidden'))
      return 'Its address is not one of the public internet over https. An operator can name the host in LEMNISCATE_NOTIFY_PRIVATE_HOSTS.';
    if (isCodedError(cause)) return 'It answered in a way that is not taken, such as a redirect.';
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string' && Object.hasOwn(faults, code)) return faults[code] ?? '';
    cause = cause.cause;
  }
  return 'It could not be reached.';
}
