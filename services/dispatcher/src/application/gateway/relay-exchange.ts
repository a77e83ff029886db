import type { Clock } from '@lemniscate/shared/clock.ts';
import { addTokens, tokensOf } from '@lemniscate/shared/model/usage.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import { bookOfProject } from '@lemniscate/shared/model/price-book.ts';
import { askProvider } from './ask-provider.ts';
import type { AskDeps, Outcome } from './ask-provider.ts';
import { beginExchange } from './begin-exchange.ts';
import type { BeginDeps } from './begin-exchange.ts';
import { gatewayEndpoints } from './endpoints.ts';
import type { AnswerSink, CheckedExchange, ExchangeTarget } from './exchange.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import { settleExchange } from './settle-exchange.ts';
import type { SettleDeps } from './settle-exchange.ts';
import { traceExchange } from '../telemetry/trace-exchange.ts';

export interface RelayDeps extends BeginDeps, SettleDeps, AskDeps {
  readonly clock: Clock;
  readonly open: OpenExchanges;
  readonly tracer?: Tracer | null;
}

/**
 * Relays one exchange byte for byte. The usage row is there before the provider is asked and settled on every kind of
 * end: a whole answer, a refusal, a client that left, a provider that broke or fell silent. A fallback model is asked
 * under a row of its own, which names the model that did not serve.
 * @param gone aborts when the client has left
 * @throws CodedError from before the first byte of an answer; afterwards the sink is cut instead
 */
export async function relayExchange(
  deps: RelayDeps,
  exchange: CheckedExchange,
  sink: AnswerSink,
  gone: AbortSignal,
  /** `traceparent` of the request; null where nothing is traced. */
  trace: string | null = null,
): Promise<void> {
  const [asked] = exchange.targets;
  for (const target of exchange.targets) {
    const replaceable = target !== exchange.targets.at(-1);
    const fallbackFor = target === asked ? null : asked.model;
    const answered = isBilled(exchange)
      ? await relayBilled(deps, exchange, target, sink, gone, { replaceable, fallbackFor, trace })
      : await askInTurn(deps, exchange, target, sink, gone, createOutcome(), replaceable);
    if (answered) return;
    deps.log.warn(
      { session: exchange.claim.sessionId, model: target.model },
      'a provider does not serve; the policy names another model',
    );
  }
}

const isBilled = (exchange: CheckedExchange): boolean => gatewayEndpoints[exchange.endpoint].meter !== null;
const createOutcome = (): Outcome => ({
  meter: null,
  metered: { responses: [], complete: false },
  refused: false,
});

/** What a rate limit is asked for: a token is about four bytes, and most answers are short. */
function expectedTokens(exchange: CheckedExchange): number {
  return Math.ceil(exchange.requestBytes / 4) + Math.min(exchange.maxTokens, 4_096);
}

/**
 * What an exchange took of its provider's tokens a minute. A refusal and a count of tokens take none; of an answer that
 * broke off at least what was expected counts.
 */
function usedTokens({ endpoint }: CheckedExchange, { metered, refused }: Outcome, expected: number): number {
  const { meter, limitsCacheReads } = gatewayEndpoints[endpoint];
  if (refused || meter === null) return 0;
  const tokens = addTokens(...metered.responses.map(tokensOf));
  const seen =
    tokens.inputTokens +
    tokens.outputTokens +
    tokens.cacheWriteTokens +
    (limitsCacheReads ? tokens.cacheReadTokens : 0);
  return metered.complete ? seen : Math.max(seen, expected);
}

/** Waits for the provider's room after every budget was asked: who waits for a person must not keep others out. */
async function askInTurn(...asked: Parameters<typeof askProvider>): Promise<boolean> {
  const [deps, exchange, target, , ended, outcome] = asked;
  const expected = expectedTokens(exchange);
  const leave = await deps
    .gates(target.provider)
    .enter(exchange.claim.sessionId, expected, ended)
    .catch((error: unknown) => {
      // Nothing was sent, so nothing is owed.
      outcome.refused = true;
      throw error;
    });
  try {
    return await askProvider(...asked);
  } finally {
    if (outcome.meter !== null) outcome.metered = outcome.meter.end();
    leave(usedTokens(exchange, outcome, expected));
  }
}

async function relayBilled(
  deps: RelayDeps,
  exchange: CheckedExchange,
  target: ExchangeTarget,
  sink: AnswerSink,
  gone: AbortSignal,
  how: { readonly replaceable: boolean; readonly fallbackFor: string | null; readonly trace: string | null },
): Promise<boolean> {
  const at = deps.clock.now().getTime();
  const facts = {
    provider: target.provider.name,
    prices: target.provider.prices ?? target.provider.name,
    model: target.model,
    at,
    fallbackFor: how.fallbackFor,
  };
  const priceBook = bookOfProject(deps.priceBook, exchange.project);
  const usageId = await beginExchange({ ...deps, priceBook }, exchange.claim, {
    ...facts,
    endpoint: exchange.endpoint,
    requestBytes: exchange.requestBytes,
    maxTokens: exchange.maxTokens,
    webSearches: exchange.webSearches,
  });
  const open = deps.open.open(usageId, exchange.claim);
  const outcome = createOutcome();
  const span = traceExchange(deps.tracer ?? null, how.trace, exchange.claim, facts);
  try {
    const ended = AbortSignal.any([gone, open.signal]);
    return await askInTurn(deps, exchange, target, sink, ended, outcome, how.replaceable);
  } finally {
    const { metered } = outcome;
    span?.end(metered, outcome.refused);
    await settleExchange(deps, {
      ...facts,
      usageId,
      claim: exchange.claim,
      responses: metered.responses,
      // A refusal is whole and costs nothing.
      complete: metered.complete || outcome.refused,
    })
      .catch((error: unknown) => {
        // The row stays `begun` with its reservation; the reaper settles it.
        deps.log.error({ err: error, usage: usageId }, 'an exchange could not be settled');
      })
      .finally(open.close);
  }
}
