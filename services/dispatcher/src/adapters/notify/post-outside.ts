import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NoticeOutcome } from '../../application/ports/notifier.ts';
import type { GuardedFetch } from '../outgoing/guarded-fetch.ts';

/** Posts a body to an address that somebody has typed in, and says what came of it. */
export type PostOutside = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<NoticeOutcome>;

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
  return async (url, headers, body, signal) => {
    try {
      const answer = await guarded.fetch(url, {
        method: 'POST',
        headers: { 'user-agent': 'lemniscate', ...headers },
        body,
        signal,
      });
      await answer.body?.cancel();
      return outcomeOf(answer);
    } catch (error) {
      return { ok: false, status: null, fault: faultOf(error, signal) };
    }
  };
}

function outcomeOf({ status, headers }: Response): NoticeOutcome {
  if (status >= 200 && status < 300) return { ok: true, status };
  const asked = headers.get('retry-after') ?? '';
  return {
    ok: false,
    status,
    fault: `It answered ${status}.`,
    ...(status === 410 ? { gone: true } : {}),
    ...(/^\d{1,6}$/.test(asked) ? { retryAfterSeconds: Number(asked) } : {}),
  };
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
