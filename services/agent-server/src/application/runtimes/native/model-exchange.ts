import { z } from 'zod';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { endReasons } from '@lemniscate/shared/session/end.ts';
import { createBackoff, sleep } from '../../backoff.ts';
import { staleAttempt } from '../../lease.ts';
import type { ModelAnswer } from '../../ports/dispatcher.ts';
import type { RuntimeContext } from '../runtime.ts';
import type { DraftChange, ModelMessage } from './message-draft.ts';
import { readMessage } from './read-message.ts';

/** How long one exchange may fail and be repeated. The dispatcher's absence does not count: the lease bounds that. */
const failingMs = 5 * 60_000;
const retryAfterBoundMs = 60_000;
const errorBytes = 64 * 1024;

/** Statuses after which the same request may succeed; 529 is the provider's "overloaded". */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 529]);

export interface ExchangeListener {
  onChange(change: Exclude<DraftChange, null>): Promise<void>;
  /** The answer was given up half-way and the request is sent again: what was shown of it is void. */
  onVoid(why: string): void;
}

/**
 * One request and its whole answer, repeated with growing waits while that can help.
 * @throws CodedError `budget_exhausted`, `attempt_stale`, `request_refused_by_gateway`, `provider_failed`
 */
export async function askModel(
  context: { readonly dispatcher: Pick<RuntimeContext['dispatcher'], 'askModel'> } & Pick<
    RuntimeContext,
    'order' | 'lease' | 'clock' | 'log' | 'signal'
  > & { readonly waiting: AbortSignal },
  body: string,
  listener: ExchangeListener,
): Promise<ModelMessage> {
  const { signal } = context;
  const backoff = createBackoff(300, 20_000);
  let failingSince: number | null = null;
  for (;;) {
    const from = context.clock.monotonicMs();
    await context.lease.hold(signal);
    // Without a lease it was the dispatcher, or its database, that was away.
    if (failingSince !== null) failingSince += context.clock.monotonicMs() - from;
    try {
      const answer = await context.dispatcher.askModel(context.order.relayToken, body, signal);
      if (answer.status !== 200) throw await refusal(context, answer);
      return await readMessage(answer.body, listener.onChange);
    } catch (error) {
      signal.throwIfAborted();
      const fault = asPassingFault(error);
      listener.onVoid(fault.message);
      // Neither is the model's failure: the dispatcher is away, or it holds the exchange for a person.
      const waits = fault.code === 'service_unreachable' || fault.code === 'awaiting_extension';
      if (!waits) failingSince ??= context.clock.monotonicMs();
      if (failingSince !== null && context.clock.monotonicMs() - failingSince > failingMs) throw fault;
      context.log.warn({ sessionId: context.order.sessionId, err: fault }, 'the model is asked again');
      const asked = fault.details['retryAfterMs'];
      const wait = Math.max(backoff.next(), typeof asked === 'number' ? asked : 0);
      await sleep(wait, fault.code === 'awaiting_extension' ? context.waiting : signal);
    }
  }
}

/** @throws the error itself where a repeat cannot help */
function asPassingFault(error: unknown): CodedError {
  if (!isCodedError(error)) throw error;
  const passing =
    error.code === 'service_unreachable' ||
    error.code === 'provider_timeout' ||
    error.details['retryable'] === true;
  if (!passing) throw error;
  return error;
}

const providerError = z.object({ error: z.object({ type: z.string().optional(), message: z.string() }) });
const problem = z.object({ detail: z.string(), code: z.string().optional() });

/** Turns an answer that is not a message into the error that says what it means here. */
async function refusal(context: Pick<RuntimeContext, 'order'>, answer: ModelAnswer): Promise<CodedError> {
  const text = await readBounded(answer);
  const why = sentence(text) ?? `status ${answer.status}`;
  const { status } = answer;
  if (status === 409) return staleAttempt(context.order.sessionId, context.order.attempt);
  if (status === 402) return new CodedError('budget_exhausted', why, { budget: budgetIn(text) });
  if (status === 503 && text.includes('"awaiting_extension"'))
    return new CodedError('awaiting_extension', why, { retryable: true });
  if (passingStatuses.has(status)) {
    return new CodedError('provider_failed', `The model did not answer (${status}): ${why}`, {
      retryable: true,
      retryAfterMs: Math.min(answer.retryAfterMs ?? 0, retryAfterBoundMs),
    });
  }
  const code = status === 400 || status === 413 ? 'request_refused_by_gateway' : 'provider_failed';
  return new CodedError(code, `The model refused the request (${status}): ${why}`, { status });
}

/** The provider's error shape has no field for our reason, so the gateway says it in the sentence. */
export function budgetIn(text: string): string | null {
  return endReasons.find((reason) => reason.includes('budget') && text.includes(reason)) ?? null;
}

/** The head of an answer that is an error. */
export async function readBounded(answer: ModelAnswer): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > errorBytes) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** What an error's body says to a person; null where it says nothing that can be read. */
export function sentence(text: string): string | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page or nothing: the status alone has to do.
    return null;
  }
  const asProvider = providerError.safeParse(body);
  if (asProvider.success) return asProvider.data.error.message;
  const asProblem = problem.safeParse(body);
  return asProblem.success ? asProblem.data.detail : null;
}
