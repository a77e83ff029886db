import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { modelEndpoints } from '../../application/ports/model-provider.ts';
import { dialects } from './dialects.ts';
import type { DialectName } from './dialects.ts';
import type { ReadVault } from './vault-keys.ts';

const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and hyphens');

/** One provider of the fleet as its operator writes it. */
const providerSchema = z.strictObject({
  name: name.refine((text) => text !== 'scripted', 'scripted is built in'),
  api: z.enum(Object.keys(dialects) as [DialectName, ...DialectName[]]),
  baseUrl: z.url({ protocol: /^https?$/ }),
  /**
   * Where its keys are: `env:NAME`, `file:/path` or `vault:path#field`. Several are taken in turn; none for a server
   * that asks for none.
   */
  keys: z
    .array(
      z
        .string()
        .regex(
          /^(env:[A-Za-z_][A-Za-z0-9_]*|file:\/.+|vault:[\w./-]+#[\w.-]+)$/,
          'must be env:NAME, file:/path or vault:path#field',
        ),
    )
    .max(20)
    .default([]),
  /** Model ids; one may end in `*`. */
  models: z
    .array(z.string().regex(/^[^*\s]+\*?$/, 'must be a model id, with * at its end only'))
    .min(1)
    .max(500),
  endpoints: z.array(z.enum(modelEndpoints)).min(1).optional(),
  /** Whose prices hold, by their name in the price book; absent: those of the provider's own name. */
  prices: name.optional(),
  concurrency: z.int().min(1).max(10_000).optional(),
  tokensPerMinute: z.int().min(1).optional(),
});
const fileSchema = z.strictObject({ providers: z.array(providerSchema).max(50) });

/** A provider whose keys were read. */
export type ConfiguredProvider = Omit<z.output<typeof providerSchema>, 'keys'> & {
  readonly keys: readonly Secret[];
};

/** Where references to keys lead. */
export interface KeySources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readText: (path: string) => Promise<string>;
  /** Null: there is no Vault. */
  readonly readVault: ReadVault | null;
}

/**
 * Reads the file of providers and the keys that it refers to. The file itself never holds a key.
 * @throws CodedError `configuration_invalid` naming file, provider and reference
 */
export async function readProviderFile(
  file: string,
  environment: KeySources['environment'],
  readVault: ReadVault | null,
): Promise<ConfiguredProvider[]> {
  try {
    const readText = (path: string): Promise<string> => readFile(path, 'utf8');
    return await readProviders(await readText(file), { environment, readText, readVault });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CodedError('configuration_invalid', `LEMNISCATE_PROVIDERS: ${file}: ${why}`, { file }, error);
  }
}

/** The same from a text. */
export async function readProviders(text: string, sources: KeySources): Promise<ConfiguredProvider[]> {
  const read = fileSchema.safeParse(parse(text));
  if (!read.success) throw new CodedError('configuration_invalid', z.prettifyError(read.error));
  const names = read.data.providers.map((provider) => provider.name);
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined)
    throw new CodedError('configuration_invalid', `Two providers are called ${twice}.`);
  return Promise.all(
    read.data.providers.map(async (provider) => ({
      ...provider,
      keys: await Promise.all(provider.keys.map((reference) => readKey(provider.name, reference, sources))),
    })),
  );
}

async function readKey(provider: string, reference: string, sources: KeySources): Promise<Secret> {
  const key = (await follow(reference, sources))?.trim() ?? '';
  if (key === '')
    throw new CodedError('configuration_invalid', `The key ${reference} of ${provider} is empty or not set.`);
  return secret(key);
}

function follow(reference: string, sources: KeySources): string | undefined | Promise<string> {
  const [, scheme, place = '', field = ''] = /^(env|file|vault):([^#]*)(?:#(.*))?$/.exec(reference) ?? [];
  if (scheme === 'env') return sources.environment[place];
  if (scheme === 'file') return sources.readText(reference.slice('file:'.length));
  if (sources.readVault !== null) return sources.readVault(place, field);
  throw new CodedError(
    'configuration_invalid',
    `The key ${reference} is in a Vault, and none is named. Set VAULT_ADDR and VAULT_TOKEN.`,
  );
}

/** Whether a provider's list of models has a model. */
export function servesModel(patterns: readonly string[], model: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern,
  );
}
