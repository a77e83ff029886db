import type { AgentDefinition } from '../api/agent.ts';
import type { createSessionSchema } from '../api/session.ts';
import { CodedError } from '../errors/coded-error.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { Policy } from '../policy/policy.ts';
import { runtimes } from '../protocol/session-order.ts';
import type { RuntimeName } from '../protocol/session-order.ts';
import { surfaceRules } from './surface.ts';
import type { z } from 'zod';

/** A request as the schema leaves it, every default filled in. */
export type SessionRequest = z.output<typeof createSessionSchema>;

/** Models that the fleet can reach. Providers may serve more than anybody has listed. */
export interface ModelOffer {
  /** Whether a provider serves the model over the API that the runtime speaks. */
  serves(model: string, runtime: RuntimeName): boolean;
  /** Name of the provider that serves the model; absent where nobody asks for providers by name. */
  providerOf?(model: string): string | undefined;
  /** What a refusal names. */
  readonly examples: readonly string[];
  readonly defaultModel: string;
  /** Of a runtime that does not speak the default model's API. */
  readonly defaultModels?: Readonly<Partial<Record<RuntimeName, string>>>;
}

/** What a request's names were resolved to. */
export interface CheckedOrder {
  readonly model: string;
  readonly runtime: RuntimeName;
}

/**
 * Resolves and checks the names in a request against the fleet and the project's policy.
 * @throws CodedError `model_unknown`, `runtime_unknown`, `provider_unknown`, `execution_refused`, each listing what exists
 */
export function checkOrder(
  request: SessionRequest,
  policy: Policy,
  offer: ModelOffer,
  agent: Pick<AgentDefinition, 'model' | 'runtime' | 'provider'> = {},
): CheckedOrder {
  const wanted = request.runtime ?? agent.runtime ?? 'native';
  const runtime = named('runtime_unknown', 'runtime', wanted, allowed(runtimes, policy.runtimes));
  const model = checkModel(request.model ?? agent.model, policy.models, offer, runtime);
  checkProvider(model, agent.provider, offer);
  checkExecution(request, policy);
  return { model, runtime };
}

/** Whoever defines the agent may have chosen a provider for where its data goes; a request cannot lead it elsewhere. */
function checkProvider(model: string, wanted: string | undefined, offer: ModelOffer): void {
  const serving = offer.providerOf?.(model);
  if (wanted === undefined || serving === wanted) return;
  throw new CodedError(
    'provider_unknown',
    `The agent's provider is "${wanted}", but model "${model}" is served by ${serving === undefined ? 'no provider of that name' : `"${serving}"`}. Take a model of "${wanted}".`,
    { provider: wanted, model },
  );
}

function checkModel(
  asked: string | undefined,
  rule: readonly string[] | undefined,
  offer: ModelOffer,
  runtime: RuntimeName,
): string {
  const serves = (model: string): boolean => offer.serves(model, runtime);
  const served = rule?.filter(serves);
  const usual = serves(offer.defaultModel)
    ? offer.defaultModel
    : (offer.defaultModels?.[runtime] ?? offer.defaultModel);
  // The fleet's default steps aside for a policy that does not have it, instead of refusing every request.
  const fallback = served === undefined || served.includes(usual) ? usual : served[0];
  const model = asked ?? fallback;
  if (model !== undefined && serves(model) && (served?.includes(model) ?? true)) return model;
  return named('model_unknown', 'model', model ?? 'any', (served ?? offer.examples).filter(serves));
}

function checkExecution(request: SessionRequest, policy: Policy): void {
  const refuse = (why: string): never => {
    throw new CodedError('execution_refused', why, { execution: request.execution, rule: policy.execution });
  };
  if (policy.execution !== 'either' && policy.execution !== request.execution)
    refuse(
      `The policy of project "${request.project}" fixes execution to ${policy.execution}; the request asks for ${request.execution}.`,
    );
  if (request.execution !== 'workstation') return;
  if (!surfaceRules[request.surface].hasWorkstation)
    refuse(`Sessions of surface ${request.surface} always run on the pool: set execution to server.`);
  if (request.server === undefined)
    refuse(
      'Execution workstation needs the name of the joined workstation in "server". Start its runner first.',
    );
}

function allowed<Name extends string>(offered: readonly Name[], rule: readonly string[] | undefined): Name[] {
  return offered.filter((name) => rule === undefined || rule.includes(name));
}

function named<Name extends string>(
  code: ErrorCode,
  kind: string,
  asked: string,
  known: readonly Name[],
): Name {
  const found = known.find((name) => name === asked);
  if (found !== undefined) return found;
  const list = known.length === 0 ? `The project's policy allows none.` : `There are: ${known.join(', ')}.`;
  throw new CodedError(code, `There is no ${kind} "${asked}" here. ${list}`, { [kind]: asked, known });
}
