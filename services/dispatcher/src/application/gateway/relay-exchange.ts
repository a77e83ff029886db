import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Log } from '../ports/log.ts';
import type { ModelProvider, ModelResponse } from '../ports/model-provider.ts';
import { createAnswerMeter } from './answer-meter.ts';
import type { AnswerMeter } from './answer-meter.ts';
import { beginExchange } from './begin-exchange.ts';
import type { BeginDeps } from './begin-exchange.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import { settleExchange } from './settle-exchange.ts';
import type { SettleDeps } from './settle-exchange.ts';

export interface RelayDeps extends BeginDeps, SettleDeps {
  readonly clock: Clock;
  readonly open: OpenExchanges;
  readonly log: Log;
  /** Longest silence of a provider while it answers, and longest exchange. Milliseconds. */
  readonly idleMs: number;
  readonly exchangeMs: number;
}

/** Where the answer goes. `write` waits while the receiver is slow. */
export interface AnswerSink {
  begin(status: number, headers: Readonly<Record<string, string>>): void;
  write(bytes: Uint8Array): Promise<void>;
  end(): void;
  /** The answer broke: the receiver must see that it is not whole. */
  cut(): void;
}

/** A request that has passed every check of the gateway. */
export interface CheckedExchange {
  readonly claim: AttemptClaim;
  readonly provider: ModelProvider;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestBytes: number;
  readonly maxTokens: number;
}

/**
 * Relays one exchange byte for byte. The usage row is there before the provider is asked and settled on every kind of
 * end: a whole answer, a refusal, a client that left, a provider that broke or fell silent.
 * @param gone aborts when the client has left
 * @throws CodedError from before the first byte of an answer; afterwards the sink is cut instead
 */
export async function relayExchange(
  deps: RelayDeps,
  exchange: CheckedExchange,
  sink: AnswerSink,
  gone: AbortSignal,
): Promise<void> {
  const at = deps.clock.now().getTime();
  const usageId = await beginExchange(deps, exchange.claim, {
    provider: exchange.provider.name,
    model: exchange.model,
    requestBytes: exchange.requestBytes,
    maxTokens: exchange.maxTokens,
    at,
  });
  const closeExchange = deps.open.open(usageId, exchange.claim);
  const outcome: Outcome = { meter: null, refused: false };
  try {
    await askAndRelay(deps, exchange, sink, gone, outcome);
  } finally {
    const metered = outcome.meter?.end() ?? { responses: [], complete: false };
    await settleExchange(deps, {
      usageId,
      claim: exchange.claim,
      provider: exchange.provider.name,
      model: exchange.model,
      at,
      responses: metered.responses,
      // A refusal is whole and costs nothing.
      complete: metered.complete || outcome.refused,
    })
      .catch((error: unknown) => {
        // The row stays `begun` with its reservation; the reaper settles it.
        deps.log.error({ err: error, usage: usageId }, 'an exchange could not be settled');
      })
      .finally(closeExchange);
  }
}

interface Outcome {
  meter: AnswerMeter | null;
  refused: boolean;
}

async function askAndRelay(
  deps: RelayDeps,
  exchange: CheckedExchange,
  sink: AnswerSink,
  gone: AbortSignal,
  outcome: Outcome,
): Promise<void> {
  const silence = createSilenceWatch(deps.idleMs);
  const signal = AbortSignal.any([gone, silence.signal, AbortSignal.timeout(deps.exchangeMs)]);
  let begun = false;
  try {
    const response = await exchange.provider.send({
      body: exchange.body,
      headers: exchange.headers,
      signal,
    });
    outcome.refused = response.status >= 400;
    if (!outcome.refused) outcome.meter = createAnswerMeter(response.headers['content-type'] ?? '');
    sink.begin(response.status, response.headers);
    begun = true;
    await pump(response, sink, outcome.meter, silence);
    sink.end();
  } catch (error) {
    if (begun) {
      deps.log.warn({ error: String(error), model: exchange.model }, 'a model answer broke off');
      return sink.cut();
    }
    throw toCoded(error, exchange, silence.signal.aborted);
  } finally {
    silence.stop();
  }
}

async function pump(
  response: ModelResponse,
  sink: AnswerSink,
  meter: AnswerMeter | null,
  silence: SilenceWatch,
): Promise<void> {
  for await (const bytes of response.body) {
    meter?.push(bytes);
    // A slow receiver is not the provider's silence.
    silence.pause();
    await sink.write(bytes);
    silence.heard();
  }
}

function toCoded(error: unknown, exchange: CheckedExchange, silent: boolean): CodedError {
  if (isCodedError(error)) return error;
  return silent
    ? new CodedError(
        'provider_timeout',
        `Provider ${exchange.provider.name} did not answer in time.`,
        {},
        error,
      )
    : new CodedError('provider_failed', `Provider ${exchange.provider.name} did not answer.`, {}, error);
}

interface SilenceWatch {
  readonly signal: AbortSignal;
  heard(): void;
  pause(): void;
  stop(): void;
}

/** Aborts when nothing was heard for the time. */
function createSilenceWatch(ms: number): SilenceWatch {
  const controller = new AbortController();
  const fire = (): void => controller.abort(new Error(`the provider was silent for ${ms} ms`));
  let timer = setTimeout(fire, ms);
  return {
    signal: controller.signal,
    heard: () => {
      clearTimeout(timer);
      timer = setTimeout(fire, ms);
    },
    pause: () => clearTimeout(timer),
    stop: () => clearTimeout(timer),
  };
}
