import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { tokenHash } from '../application/access/token-hash.ts';
import type { App } from './app.ts';
import { callerAddress } from './caller-address.ts';
import { tokenOf } from './credentials.ts';

const windowMs = 60_000;
/** Callers that are told apart at the same time. */
const maxCallers = 20_000;

/** Logins that one address may begin in a minute: each is kept until it ends or ten minutes are over. */
export const loginsBegunPerMinute = 60;

/** For routes that begin a login: whoever does has none yet, and could otherwise fill the place of everybody else's. */
export const beginningsRate = {
  rateLimit: {
    max: loginsBegunPerMinute,
    timeWindow: windowMs,
    keyGenerator: (request: FastifyRequest) => `begins ${callerAddress(request)}`,
    errorResponseBuilder: (_request: FastifyRequest, { ttl }: { readonly ttl: number }) =>
      new CodedError(
        'rate_limited',
        `More than ${loginsBegunPerMinute} logins a minute were begun at your address. Try again in a minute.`,
        { retryAfterSeconds: Math.max(1, Math.ceil(ttl / 1_000)) },
      ),
  },
};

/**
 * Bounds how often one login asks in a minute, and says so on every answer (`ratelimit-limit`, `-remaining`, `-reset`,
 * and `retry-after` with a refusal). Each dispatcher counts for itself: it protects the process, and divides nothing.
 */
export async function limitRate(app: App, perMinute: number): Promise<void> {
  await app.register(rateLimit, {
    global: true,
    hook: 'onRequest',
    max: perMinute,
    timeWindow: windowMs,
    cache: maxCallers,
    enableDraftSpec: true,
    keyGenerator: (request) => {
      const sent = tokenOf(request);
      return sent === null ? `address ${callerAddress(request)}` : tokenHash(sent.token).toString('base64');
    },
    errorResponseBuilder: (_request, { ttl }) =>
      new CodedError(
        'rate_limited',
        `This login asks more than ${perMinute} times a minute. Ask less often.`,
        {
          retryAfterSeconds: Math.max(1, Math.ceil(ttl / 1_000)),
        },
      ),
  });
}
