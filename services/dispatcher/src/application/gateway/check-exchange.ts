import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { checkAnthropicRequest } from '@lemniscate/shared/model/gateway-request.ts';
import type { ModelProvider } from '../ports/model-provider.ts';
import { isDeeperThan } from '../json-walk.ts';
import type { AuthorisedCaller } from './authorise-exchange.ts';
import type { CheckedExchange } from './relay-exchange.ts';

export interface CheckDeps {
  /** The provider that serves a model; undefined when none does. */
  readonly providerOf: (model: string) => ModelProvider | undefined;
}

// What the gateway itself needs of a request; everything else is the allow-list's.
const neededSchema = z.looseObject({
  model: z.string().min(1).max(200),
  max_tokens: z.int().min(1).max(10_000_000),
});

// Far beyond any tool's schema; without a bound JSON.stringify overflows the stack, which looked like a silent provider.
const maxDepth = 128;

/** Headers that reach the provider; the token of the relay is not among them. */
const passedHeaders = ['anthropic-version', 'anthropic-beta', 'accept'] as const;

/**
 * Checks a request before anything is written or sent.
 * @throws CodedError `request_invalid`, `request_refused_by_gateway`, `model_unknown`, `forbidden`
 */
export function checkExchange(
  deps: CheckDeps,
  caller: AuthorisedCaller,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): CheckedExchange {
  const body = parseBody(bytes);
  if (isDeeperThan(body, maxDepth))
    throw new CodedError('request_invalid', `The request is nested in more than ${maxDepth} levels.`);
  const beta = textOf(headers['anthropic-beta']);
  const checked = checkAnthropicRequest(body, beta);
  if (!checked.ok)
    throw new CodedError('request_refused_by_gateway', `${checked.field}: ${checked.reason}`, {
      field: checked.field,
    });
  const needed = neededSchema.safeParse(body);
  if (!needed.success) throw new CodedError('request_invalid', z.prettifyError(needed.error));
  const { model, max_tokens: maxTokens } = needed.data;
  if (model !== caller.model)
    throw new CodedError('forbidden', `This session may use the model ${caller.model}, not ${model}.`);
  const provider = deps.providerOf(model);
  if (provider === undefined)
    throw new CodedError('model_unknown', `No provider of this fleet serves the model ${model}.`);
  return {
    claim: caller.claim,
    provider,
    model,
    body: needed.data,
    headers: Object.fromEntries(
      passedHeaders.flatMap((name) => {
        const value = textOf(headers[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    requestBytes: bytes.byteLength,
    maxTokens,
  };
}

function parseBody(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new CodedError('request_invalid', 'The body is not JSON.', {}, error);
  }
  throw new CodedError('request_invalid', 'The body is not a JSON object.');
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
