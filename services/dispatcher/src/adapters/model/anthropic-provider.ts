import { request } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ModelProvider, ModelRequest, ModelResponse } from '../../application/ports/model-provider.ts';
import { mayRetry, toProviderError, waitBefore } from './provider-faults.ts';

/** Bounds of one exchange, in milliseconds. The connect timeout belongs to the agent. */
export interface AnthropicTimeouts {
  /** From the request to the first byte of the answer; a large prompt is read for a while before it is answered. */
  readonly headersMs: number;
  /** Longest silence within an answer; the API pings every few seconds. */
  readonly idleMs: number;
  /** All attempts together, counted until the first byte. */
  readonly retryMs: number;
}

export const anthropicTimeouts: AnthropicTimeouts = { headersMs: 300_000, idleMs: 90_000, retryMs: 60_000 };

export interface AnthropicOptions {
  readonly apiKey: Secret;
  /** For example `https://api.anthropic.com`; a path in it is kept. */
  readonly baseUrl: string;
  /** Holds the connections; whoever made it closes it. */
  readonly agent: Dispatcher;
  readonly clock: Clock;
  /** Waits, or rejects when the signal is aborted. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeouts?: AnthropicTimeouts;
}

/** Headers of the client that reach the API. */
const passedOn = ['anthropic-version', 'anthropic-beta', 'accept'] as const;
/** Headers of the API that reach the client; its rate limits are the fleet's, not a session's. */
const passedBack = ['content-type', 'request-id', 'retry-after'] as const;
const maxErrorBytes = 64 * 1024;

function headersFor(sent: ModelRequest, apiKey: Secret): Record<string, string> {
  const passed = passedOn.flatMap((name) =>
    sent.headers[name] === undefined ? [] : [[name, sent.headers[name]]],
  );
  return {
    'anthropic-version': '2023-06-01',
    ...(Object.fromEntries(passed) as Record<string, string>),
    'content-type': 'application/json',
    // Bytes are relayed as they are, and metered on the way: they must not be compressed.
    'accept-encoding': 'identity',
    'x-api-key': apiKey.reveal(),
  };
}

async function* readBody(body: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw toProviderError(error, 'Anthropic');
  }
}

function toResponse(answer: Dispatcher.ResponseData): ModelResponse {
  const headers = passedBack.flatMap((name) => {
    const value = answer.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { status: answer.statusCode, headers: Object.fromEntries(headers), body: readBody(answer.body) };
}

/** The Anthropic Messages API over HTTPS. Retries end with the first byte of an answer. */
export function createAnthropicProvider(options: AnthropicOptions): ModelProvider {
  const { agent, clock, delay, timeouts = anthropicTimeouts } = options;
  const url = `${options.baseUrl.replace(/\/+$/, '')}/v1/messages`;

  const ask = async (sent: ModelRequest): Promise<Dispatcher.ResponseData> => {
    const answer = await request(url, {
      method: 'POST',
      headers: headersFor(sent, options.apiKey),
      body: JSON.stringify(sent.body),
      signal: sent.signal,
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.idleMs,
      dispatcher: agent,
    });
    if (answer.statusCode < 300 || answer.statusCode >= 400) return answer;
    await answer.body.dump({ limit: maxErrorBytes });
    throw new CodedError(
      'provider_failed',
      `Anthropic answered ${answer.statusCode} with a redirect, which is not followed. Check ANTHROPIC_BASE_URL.`,
    );
  };

  return {
    name: 'anthropic',
    wire: 'anthropic-messages',
    send: async (sent) => {
      const deadline = clock.monotonicMs() + timeouts.retryMs;
      for (let attempt = 1; ; attempt += 1) {
        const remaining = (): number => deadline - clock.monotonicMs();
        try {
          const answer = await ask(sent);
          const wait = waitBefore(attempt, answer.statusCode, answer.headers['retry-after'], clock);
          if (wait === undefined || wait > remaining()) return toResponse(answer);
          await answer.body.dump({ limit: maxErrorBytes });
          await delay(wait, sent.signal);
        } catch (error) {
          const wait = mayRetry(error) ? waitBefore(attempt, 503, undefined, clock) : undefined;
          if (wait === undefined || wait > remaining()) throw toProviderError(error, 'Anthropic');
          await delay(wait, sent.signal);
        }
      }
    },
  };
}
