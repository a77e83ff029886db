import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { TakeBytes } from '@lemniscate/shared/model/answer-body.ts';
import type { Log } from '../ports/log.ts';
import type { ModelResponse } from '../ports/model-provider.ts';
import { createAnswerMeter } from './answer-meter.ts';
import type { AnswerMeter } from './answer-meter.ts';
import { gatewayEndpoints } from './endpoints.ts';
import type { AnswerSink, CheckedExchange, ExchangeTarget } from './exchange.ts';
import type { Gates } from './gates.ts';
import { createSilenceWatch } from './silence-watch.ts';
import type { AnswerFlow } from './silence-watch.ts';

export interface AskDeps {
  readonly log: Log;
  readonly gates: Gates;
  /** Longest silence of a provider while it answers, and longest exchange. Milliseconds. */
  readonly idleMs: number;
  readonly exchangeMs: number;
}

/** What is known of an answer when it is over. */
export interface Outcome {
  /** While it comes; null where it tells no usage. */
  meter: AnswerMeter | null;
  metered: ReturnType<AnswerMeter['end']>;
  /** The provider said that it does not serve this, which costs nothing. */
  refused: boolean;
}

/** Statuses with which a provider says that it cannot serve now, whatever is asked. */
const notServing = (status: number): boolean => status === 429 || status >= 500;

/**
 * Asks one provider and relays what it answers.
 * @param replaceable another model stands by: a provider that does not serve is then not shown to the client
 * @returns whether the client has its answer
 * @throws CodedError from before the first byte of an answer; afterwards the sink is cut instead
 */
export async function askProvider(
  deps: AskDeps,
  exchange: CheckedExchange,
  target: ExchangeTarget,
  sink: AnswerSink,
  ended: AbortSignal,
  outcome: Outcome,
  replaceable: boolean,
): Promise<boolean> {
  const silence = createSilenceWatch(deps.idleMs);
  const signal = AbortSignal.any([ended, silence.signal, AbortSignal.timeout(deps.exchangeMs)]);
  const { meter } = gatewayEndpoints[exchange.endpoint];
  let begun = false;
  try {
    const response = await target.provider.send({
      endpoint: exchange.endpoint,
      body: { ...exchange.body, model: target.model },
      headers: exchange.headers,
      signal,
    });
    outcome.refused = response.status >= 400;
    if (replaceable && notServing(response.status)) {
      await drop(response);
      return false;
    }
    if (!outcome.refused && meter !== null)
      outcome.meter = createAnswerMeter(meter, response.headers['content-type'] ?? '');
    sink.begin(response.status, response.headers);
    begun = true;
    await pump(response, sink, outcome.meter, silence.flow);
    sink.end();
    return true;
  } catch (error) {
    if (begun) {
      deps.log.warn({ err: error, model: target.model }, 'a model answer broke off');
      sink.cut();
      return true;
    }
    if (replaceable && !ended.aborted) return false;
    throw toCoded(error, target, silence.signal.aborted, ended);
  } finally {
    silence.stop();
  }
}

/** A refusal longer than this is not worth its connection. Bytes. */
const longestRefusal = 64 * 1024;

/** A refusal that nobody sees is read to its end, so that its connection can be used again. */
async function drop(response: ModelResponse): Promise<void> {
  let length = 0;
  for await (const bytes of response.body) {
    length += bytes.byteLength;
    // To leave it ends the exchange with its connection.
    if (length > longestRefusal) return;
  }
}

async function pump(
  response: ModelResponse,
  sink: AnswerSink,
  meter: AnswerMeter | null,
  flow: AnswerFlow,
): Promise<void> {
  const goOn = (): void => {
    flow.isHeldUp = false;
    flow.pieces += 1;
  };
  const take: TakeBytes = (bytes) => {
    const drained = sink.write(bytes);
    // The client has its bytes before they are read here.
    meter?.push(bytes);
    flow.pieces += 1;
    if (drained === null) return null;
    flow.isHeldUp = true;
    return drained.then(goOn);
  };
  if (response.body.deliver !== undefined) return response.body.deliver(take);
  for await (const bytes of response.body) await take(bytes);
}

function toCoded(error: unknown, target: ExchangeTarget, silent: boolean, ended: AbortSignal): CodedError {
  if (isCodedError(error)) return error;
  if (isCodedError(ended.reason)) return ended.reason;
  const { name } = target.provider;
  return silent
    ? new CodedError('provider_timeout', `Provider ${name} did not answer in time.`, {}, error)
    : new CodedError('provider_failed', `Provider ${name} did not answer.`, {}, error);
}
