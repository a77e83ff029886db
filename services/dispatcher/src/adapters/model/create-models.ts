import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import type { ModelEndpoint, ModelProvider } from '../../application/ports/model-provider.ts';
import type { ModelOffer } from '@lemniscate/shared/session/check-order.ts';
import { createProviderAgent } from './provider-agent.ts';
import { readProviderFile } from './provider-file.ts';
import type { ConfiguredProvider } from './provider-file.ts';
import { createModelProviders } from './registry.ts';
import { loadScripts } from './scripted/load-scripts.ts';
import { scriptedModel } from './scripted/scripted-provider.ts';
import { createVaultReader } from './vault-keys.ts';
import type { ReadVault } from './vault-keys.ts';

export interface ModelSettings {
  readonly LEMNISCATE_MODEL?: string | undefined;
  readonly ANTHROPIC_API_KEY?: Secret | undefined;
  readonly ANTHROPIC_BASE_URL: string;
  readonly OPENAI_API_KEY?: Secret | undefined;
  readonly OPENAI_BASE_URL: string;
  /** A file of providers; see `provider-file.ts`. */
  readonly LEMNISCATE_PROVIDERS?: string | undefined;
  readonly VAULT_ADDR?: string | undefined;
  readonly VAULT_TOKEN?: Secret | undefined;
}

/** The providers of this fleet and what they offer. */
export interface Models {
  readonly offer: ModelOffer;
  readonly providerOf: (model: string) => ModelProvider | undefined;
  readonly close: () => Promise<void>;
}

/** What a session gets that names no model, where a key makes a real one possible. */
const usualModel = 'claude-sonnet-4-6';
const usualOpenAiModel = 'gpt-5-codex';

/** Over which API each runtime asks its model. */
const spokenBy = {
  native: 'anthropic-messages',
  'claude-code': 'anthropic-messages',
  codex: 'openai-responses',
} as const satisfies Readonly<Record<RuntimeName, ModelEndpoint>>;

function vaultOf({ VAULT_ADDR: address, VAULT_TOKEN: token }: ModelSettings): ReadVault | null {
  return address === undefined || token === undefined ? null : createVaultReader({ address, token });
}

/**
 * Builds every provider that has what it needs.
 * @throws CodedError `configuration_invalid` when no provider serves the default model
 */
export async function createModels(
  settings: ModelSettings,
  clock: Clock,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Models> {
  const hasKey = settings.ANTHROPIC_API_KEY !== undefined;
  const file = settings.LEMNISCATE_PROVIDERS;
  const configured = file === undefined ? [] : await readProviderFile(file, environment, vaultOf(settings));
  const agent = createProviderAgent();
  const { names, providerOf } = createModelProviders({
    newId: randomUUID,
    clock,
    delay: async (ms, signal) => delay(ms, undefined, { signal }),
    agent,
    scripts: await loadScripts(),
    anthropicBaseUrl: settings.ANTHROPIC_BASE_URL,
    ...(settings.ANTHROPIC_API_KEY === undefined ? {} : { anthropicApiKey: settings.ANTHROPIC_API_KEY }),
    openAiBaseUrl: settings.OPENAI_BASE_URL,
    ...(settings.OPENAI_API_KEY === undefined ? {} : { openAiApiKey: settings.OPENAI_API_KEY }),
    configured,
  });
  const serves = (model: string, runtime: RuntimeName): boolean =>
    providerOf(model)?.endpoints.has(spokenBy[runtime]) === true;
  const defaultModel = settings.LEMNISCATE_MODEL ?? (hasKey ? usualModel : scriptedModel);
  if (providerOf(defaultModel) === undefined)
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_MODEL: no provider serves "${defaultModel}" (providers: ${names.join(', ')}). Name another model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name its provider in LEMNISCATE_PROVIDERS.`,
      { model: defaultModel, providers: names },
    );
  return {
    offer: {
      serves,
      providerOf: (model) => providerOf(model)?.name,
      examples: examplesOf(hasKey, settings.OPENAI_API_KEY !== undefined, configured),
      defaultModel,
      defaultModels: { native: usualModel, 'claude-code': usualModel, codex: usualOpenAiModel },
    },
    providerOf,
    close: () => agent.destroy(),
  };
}

function examplesOf(
  hasKey: boolean,
  hasOpenAiKey: boolean,
  configured: readonly ConfiguredProvider[],
): string[] {
  const named = configured.flatMap(({ models }) => models.filter((model) => !model.endsWith('*')));
  return [
    scriptedModel,
    ...(hasKey ? [usualModel] : []),
    ...(hasOpenAiKey ? [usualOpenAiModel] : []),
    ...named,
  ];
}
