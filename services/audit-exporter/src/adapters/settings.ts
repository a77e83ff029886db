import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ExporterConfig } from '../config.ts';

/** The exporter's settings as text, for commitments alone. The file with its receivers counts by its digest. */
export function settingsOfExporter(config: ExporterConfig): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const [name, value] of Object.entries(config))
    if (value !== undefined) settings.set(name, String(value));
  const { LEMNISCATE_SINKS: sinks } = config;
  if (sinks === undefined) return settings;
  const content = createHash('sha256').update(readFileSync(sinks)).digest('hex');
  return settings.set('LEMNISCATE_SINKS:content', content);
}
