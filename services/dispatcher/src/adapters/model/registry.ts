import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import type { Dispatcher } from 'undici';
import type { ModelProvider } from '../../application/ports/model-provider.ts';
import { createAnthropicProvider } from './anthropic-provider.ts';
import type { Script } from './scripted/script.ts';
import { createScriptedProvider, scriptedModel } from './scripted/scripted-provider.ts';

/** What providers are built from; what a provider needs and is not there switches it off. */
export interface ModelProviderDeps {
  readonly newId: () => string;
  readonly clock: Clock;
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly agent: Dispatcher;
  readonly scripts: readonly Script[];
  readonly anthropicApiKey?: Secret;
  readonly anthropicBaseUrl: string;
}

interface RegisteredProvider {
  readonly serves: (model: string) => boolean;
  readonly create: (deps: ModelProviderDeps) => ModelProvider | undefined;
}

/** The family of providers: one line each. */
export const modelProviders: Readonly<Record<string, RegisteredProvider>> = {
  scripted: { serves: (model) => model === scriptedModel, create: createScriptedProvider },
  anthropic: { serves: (model) => /^claude-[a-z0-9.-]+$/.test(model), create: createAnthropicWithKey },
};

function createAnthropicWithKey(deps: ModelProviderDeps): ModelProvider | undefined {
  const { anthropicApiKey: apiKey, anthropicBaseUrl: baseUrl } = deps;
  return apiKey === undefined ? undefined : createAnthropicProvider({ ...deps, apiKey, baseUrl });
}

/** Builds the providers that have what they need, and says which one serves a model. */
export function createModelProviders(deps: ModelProviderDeps): {
  readonly names: readonly string[];
  readonly providerOf: (model: string) => ModelProvider | undefined;
} {
  const built = Object.values(modelProviders).flatMap(({ serves, create }) => {
    const provider = create(deps);
    return provider === undefined ? [] : [{ provider, serves }];
  });
  return {
    names: built.map(({ provider }) => provider.name),
    providerOf: (model) => built.find(({ serves }) => serves(model))?.provider,
  };
}
