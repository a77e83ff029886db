import type { Dispatcher } from 'undici';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { askInPieces } from '@lemniscate/shared/model/ask-in-pieces.ts';
import type { PieceAnswer } from '@lemniscate/shared/model/ask-in-pieces.ts';
import type {
  ModelEndpoint,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  ProviderLimits,
} from '../../application/ports/model-provider.ts';
import type { Dialect } from './dialects.ts';
import { createKeyRing } from './key-ring.ts';
import { mayRetry, toProviderError, waitBefore } from './provider-faults.ts';

/** Bounds of one exchange, in milliseconds. The connect timeout belongs to the agent. */
export interface ProviderTimeouts {
  /** From the request to the first byte of the answer; a large prompt is read for a while before it is answered. */
  readonly headersMs: number;
  /** Longest silence within an answer; the APIs ping every few seconds. */
  readonly idleMs: number;
  /** All attempts together, counted until the first byte. */
  readonly retryMs: number;
}

const providerTimeouts: ProviderTimeouts = { headersMs: 300_000, idleMs: 90_000, retryMs: 60_000 };

export interface HttpProviderOptions {
  readonly name: string;
  readonly dialect: Dialect;
  /** Several are taken in turn; none where the server asks for none. */
  readonly keys: readonly Secret[];
  /** For example `https://api.anthropic.com`; a path in it is kept. */
  readonly baseUrl: string;
  /** Absent: all of the dialect. */
  readonly endpoints?: readonly ModelEndpoint[] | undefined;
  readonly limits?: ProviderLimits;
  readonly prices?: string | undefined;
  /** Holds the connections; whoever made it closes it. */
  readonly agent: Dispatcher;
  readonly clock: Clock;
  /** Waits, or rejects when the signal is aborted. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeouts?: ProviderTimeouts;
}

/** Headers of the API that reach the client; its rate limits are the fleet's, not a session's. */
const passedBack = ['content-type', 'request-id', 'x-request-id', 'retry-after'] as const;
const maxErrorBytes = 64 * 1024;
/** A key that the provider does not accept is tried again after so long. Milliseconds. */
const refusedRestMs = 300_000;
const limitedRestMs = 5_000;

/** A model API over HTTP in one of the dialects. Retries end with the first byte of an answer. */
export function createHttpProvider(options: HttpProviderOptions): ModelProvider {
  const { name, dialect, clock, delay, timeouts = providerTimeouts } = options;
  const ring = createKeyRing(options.keys, clock);
  const offered = Object.keys(dialect.paths) as ModelEndpoint[];

  /** Whether another key can take the request over at once, since this one is refused or at its limit. */
  const passKeyOn = (key: Secret | null, answer: PieceAnswer): boolean => {
    const refused = answer.statusCode === 401 || answer.statusCode === 403;
    if (key === null || !(refused || answer.statusCode === 429)) return false;
    const told = waitBefore(1, answer.statusCode, answer.headers['retry-after'], clock);
    ring.rest(key, refused ? refusedRestMs : (told ?? limitedRestMs));
    return ring.hasRested();
  };

  return {
    name,
    endpoints: new Set(options.endpoints ?? offered),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.prices === undefined ? {} : { prices: options.prices }),
    send: async (sent) => {
      const deadline = clock.monotonicMs() + timeouts.retryMs;
      for (let attempt = 1, keysTried = 1; ;) {
        const remaining = (): number => deadline - clock.monotonicMs();
        const key = ring.next();
        try {
          const answer = await ask(options, timeouts, sent, key);
          if (passKeyOn(key, answer) && keysTried < options.keys.length) {
            keysTried += 1;
            await answer.body.drop(maxErrorBytes);
            continue;
          }
          const wait = waitBefore(attempt, answer.statusCode, answer.headers['retry-after'], clock);
          if (wait === undefined || wait > remaining()) return toResponse(answer);
          await answer.body.drop(maxErrorBytes);
          await delay(wait, sent.signal);
        } catch (error) {
          const wait = mayRetry(error) ? waitBefore(attempt, 503, undefined, clock) : undefined;
          if (wait === undefined || wait > remaining()) throw toProviderError(error, name);
          await delay(wait, sent.signal);
        }
        attempt += 1;
      }
    },
  };
}

async function ask(
  options: HttpProviderOptions,
  timeouts: ProviderTimeouts,
  sent: ModelRequest,
  key: Secret | null,
): Promise<PieceAnswer> {
  const path = options.dialect.paths[sent.endpoint];
  if (path === undefined)
    throw new CodedError('provider_failed', `Provider ${options.name} does not speak ${sent.endpoint}.`);
  const url = new URL(`${options.baseUrl.replace(/\/+$/, '')}${path}`);
  const asked = {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers: headersFor(options.dialect, sent, key),
    body: JSON.stringify(sent.body),
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleMs,
  } as const;
  const answer = await askInPieces(options.agent, asked, sent.signal, (error) =>
    toProviderError(error, options.name),
  );
  if (answer.statusCode < 300 || answer.statusCode >= 400) return answer;
  await answer.body.drop(maxErrorBytes);
  throw new CodedError(
    'provider_failed',
    `Provider ${options.name} answered ${answer.statusCode} with a redirect, which is not followed. Check its address.`,
  );
}

function headersFor(dialect: Dialect, sent: ModelRequest, key: Secret | null): Record<string, string> {
  const passed = dialect.passedOn.flatMap((name) => {
    const value = sent.headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...dialect.headers,
    ...Object.fromEntries(passed),
    'content-type': 'application/json',
    // Bytes are relayed as they are, and metered on the way: they must not be compressed.
    'accept-encoding': 'identity',
    ...(key === null ? {} : dialect.authorise(key)),
  };
}

function toResponse(answer: PieceAnswer): ModelResponse {
  const headers = passedBack.flatMap((name) => {
    const value = answer.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return {
    status: answer.statusCode,
    headers: Object.fromEntries(headers),
    body: answer.body,
  };
}
