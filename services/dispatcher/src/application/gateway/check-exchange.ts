import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isDeeperThan } from '../json-walk.ts';
import type { ModelEndpoint, ModelProvider } from '../ports/model-provider.ts';
import { modelsOf } from './authorise-exchange.ts';
import type { AuthorisedCaller } from './authorise-exchange.ts';
import { gatewayEndpoints } from './endpoints.ts';
import type { CheckedExchange, ExchangeTarget } from './exchange.ts';

export interface CheckDeps {
  /** The provider that serves a model; undefined when none does. */
  readonly providerOf: (model: string) => ModelProvider | undefined;
}

// What the gateway itself needs of a request; everything else is the allow-list's.
const neededSchema = z.looseObject({ model: z.string().min(1).max(200) });

/** No provider answers more in one exchange; a larger bound would only reserve what nobody has. */
const mostTokens = 10_000_000;

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
  endpoint: ModelEndpoint,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): CheckedExchange {
  const rules = gatewayEndpoints[endpoint];
  const body = parseBody(bytes);
  if (isDeeperThan(body, maxDepth))
    throw new CodedError('request_invalid', `The request is nested in more than ${maxDepth} levels.`);
  const checked = rules.check(body, textOf(headers['anthropic-beta']), {
    ...caller.rules.allow,
    ...(caller.providerTools.length === 0 ? {} : { providerTools: caller.providerTools }),
  });
  if (!checked.ok)
    throw new CodedError('request_refused_by_gateway', `${checked.field}: ${checked.reason}`, {
      field: checked.field,
    });
  const needed = neededSchema.safeParse(body);
  if (!needed.success) throw new CodedError('request_invalid', z.prettifyError(needed.error));
  const maxTokens = rules.maxTokens(body);
  if (maxTokens > mostTokens)
    throw new CodedError('request_invalid', `An answer has at most ${mostTokens} tokens, not ${maxTokens}.`);
  const searches = rules.boundSearches(needed.data);
  return {
    claim: caller.claim,
    project: caller.project,
    endpoint,
    targets: targetsOf(deps, caller, endpoint, needed.data.model),
    body: rules.prepare(searches.body),
    headers: Object.fromEntries(
      passedHeaders.flatMap((name) => {
        const value = textOf(headers[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    requestBytes: bytes.byteLength,
    maxTokens,
    webSearches: searches.most,
  };
}

/** Where the request goes, and where it goes if that does not serve and the policy names another model. */
function targetsOf(
  deps: CheckDeps,
  caller: AuthorisedCaller,
  endpoint: ModelEndpoint,
  model: string,
): [ExchangeTarget, ...ExchangeTarget[]] {
  const models = modelsOf(caller);
  if (!models.includes(model))
    throw new CodedError('forbidden', `This session may use the model ${models.join(' or ')}, not ${model}.`);
  const first = targetOf(deps, endpoint, model);
  const fallback = caller.rules.fallbackModels?.[model];
  return fallback === undefined ? [first] : [first, targetOf(deps, endpoint, fallback)];
}

function targetOf(deps: CheckDeps, endpoint: ModelEndpoint, model: string): ExchangeTarget {
  const provider = deps.providerOf(model);
  if (provider === undefined)
    throw new CodedError('model_unknown', `No provider of this fleet serves the model ${model}.`);
  if (!provider.endpoints.has(endpoint))
    throw new CodedError(
      'model_unknown',
      `The model ${model} is served over ${[...provider.endpoints].join(', ')}, not over ${endpoint}. Choose a runtime that speaks it.`,
    );
  return { provider, model };
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
