import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import type { Dispatcher } from 'undici';
import type { ModelProvider } from '../../application/ports/model-provider.ts';
import { dialects } from './dialects.ts';
import { createHttpProvider } from './http-provider.ts';
import { servesModel } from './provider-file.ts';
import type { ConfiguredProvider } from './provider-file.ts';
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
  readonly openAiApiKey?: Secret;
  readonly openAiBaseUrl: string;
  /** Providers of the operator's own file; they come before those that are built in. */
  readonly configured: readonly ConfiguredProvider[];
}

interface RegisteredProvider {
  readonly serves: (model: string) => boolean;
  readonly create: (deps: ModelProviderDeps) => ModelProvider | undefined;
}

/** The family of providers that need no file: one line each. */
export const modelProviders: Readonly<Record<string, RegisteredProvider>> = {
  scripted: { serves: (model) => model === scriptedModel, create: createScriptedProvider },
  anthropic: {
    serves: (model) => /^claude-[a-z0-9.-]+$/.test(model),
    create: (deps) => createWithKey('anthropic', deps.anthropicApiKey, deps.anthropicBaseUrl, deps),
  },
  openai: {
    serves: (model) => /^(gpt|o[1-9]|codex)-?[a-z0-9.-]*$/.test(model),
    create: (deps) => createWithKey('openai', deps.openAiApiKey, deps.openAiBaseUrl, deps),
  },
};

function createWithKey(
  name: 'anthropic' | 'openai',
  key: Secret | undefined,
  baseUrl: string,
  deps: ModelProviderDeps,
): ModelProvider | undefined {
  if (key === undefined) return undefined;
  return createHttpProvider({ ...deps, name, dialect: dialects[name], keys: [key], baseUrl });
}

function createConfigured(configured: ConfiguredProvider, deps: ModelProviderDeps): ModelProvider {
  const { api, concurrency, tokensPerMinute, ...rest } = configured;
  return createHttpProvider({
    ...deps,
    ...rest,
    dialect: dialects[api],
    limits: { concurrency, tokensPerMinute },
  });
}

/** Builds the providers that have what they need, and says which one serves a model. */
export function createModelProviders(deps: ModelProviderDeps): {
  readonly names: readonly string[];
  readonly providerOf: (model: string) => ModelProvider | undefined;
} {
  const own = deps.configured.map((configured) => ({
    provider: createConfigured(configured, deps),
    serves: (model: string): boolean => servesModel(configured.models, model),
  }));
  const known = Object.values(modelProviders).flatMap(({ serves, create }) => {
    const provider = create(deps);
    return provider === undefined ? [] : [{ provider, serves }];
  });
  const built = [...own, ...known];
  return {
    names: built.map(({ provider }) => provider.name),
    providerOf: (model) => built.find(({ serves }) => serves(model))?.provider,
  };
}
