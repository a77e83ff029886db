import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { DispatcherConfig } from '../config.ts';

/** Variables that name a file whose content is part of the configuration. */
const files = [
  'LEMNISCATE_DEFAULT_POLICY',
  'LEMNISCATE_PRICES',
  'LEMNISCATE_PROVIDERS',
  'LEMNISCATE_TLS_CA',
  'LEMNISCATE_TLS_CERT',
] as const satisfies readonly (keyof DispatcherConfig)[];

/** The dispatcher's settings as text, secrets revealed: for commitments alone. Files count by their digest. */
export async function settingsOfDispatcher(config: DispatcherConfig): Promise<ReadonlyMap<string, string>> {
  const settings = new Map<string, string>();
  for (const [name, value] of Object.entries(config))
    if (value !== undefined) settings.set(name, textOf(value));
  for (const name of files) {
    const path = config[name];
    if (path === undefined) continue;
    const content = await readFile(path);
    settings.set(`${name} (content)`, createHash('sha256').update(content).digest('hex'));
  }
  return settings;
}

function textOf(value: NonNullable<DispatcherConfig[keyof DispatcherConfig]>): string {
  if (typeof value === 'object' && 'reveal' in value) return value.reveal();
  return value instanceof URL || typeof value !== 'object' ? String(value) : JSON.stringify(value);
}
