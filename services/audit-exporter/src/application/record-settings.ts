import { commitment } from '@lemniscate/shared/audit/commitment.ts';
import type { SettingsStore } from './ports/settings-store.ts';

/**
 * Compares the exporter's settings with those under which an exporter led last, and writes down which are others. Values are
 * commitments, for addresses hold passwords.
 * @param settings name to value, as text
 * @returns the names that changed
 */
export async function recordSettings(
  store: SettingsStore,
  subject: string,
  settings: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const [key, known] = [await store.key(), await store.known()];
  const now = new Map(
    [...settings].map(([name, value]) => [name, commitment(key, 'setting', `${name}=${value}`)]),
  );
  const names = [...new Set([...known.keys(), ...now.keys()])].toSorted();
  const changed = names.filter((name) => known.get(name) !== now.get(name));
  if (changed.length === 0) return [];
  const body = { service: subject, changed, first: known.size === 0 };
  await store.replace(now, { type: 'config.changed', subject, body });
  return changed;
}
