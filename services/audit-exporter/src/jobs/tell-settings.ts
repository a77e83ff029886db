import { recordSettings } from '../application/record-settings.ts';
import type { SettingsStore } from '../application/ports/settings-store.ts';
import type { Log } from '../log.ts';
import { startJob } from './loop.ts';
import type { Job } from './loop.ts';

/** Tells in the log, once a term, which settings are others than under the exporter that led before. */
export function startTellSettings(
  store: SettingsStore,
  { subject, settings }: { readonly subject: string; readonly settings: ReadonlyMap<string, string> },
  log: Log,
): Job {
  let told = false;
  return startJob({
    name: 'tell-settings',
    everyMs: 3_600_000,
    mostBackoffMs: 30_000,
    log,
    pass: async () => {
      if (told) return false;
      const changed = await recordSettings(store, subject, settings);
      told = true;
      if (changed.length > 0) log('info', 'other settings than before', { changed });
      return false;
    },
  });
}
