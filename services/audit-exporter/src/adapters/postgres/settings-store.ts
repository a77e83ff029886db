import type { SettingsStore } from '../../application/ports/settings-store.ts';
import type { Query } from './log-store.ts';
import { placeInLogChain } from './log-chain-place.ts';

/** The exporter's settings in Postgres. */
export function createSettingsStore(query: Query, now: () => Date): SettingsStore {
  return {
    key: async () =>
      (await query<{ key: Uint8Array }>('SELECT key FROM audit_exporter_key'))[0]?.key ?? new Uint8Array(),
    known: async () => {
      const rows = await query<{ name: string; commitment: string }>(
        'SELECT name, commitment FROM audit_exporter_settings',
      );
      return new Map(rows.map(({ name, commitment }) => [name, commitment]));
    },
    replace: async (settings, entry) => {
      const { columns } = await placeInLogChain(query, entry, now());
      await query(
        `WITH gone AS (
           DELETE FROM audit_exporter_settings WHERE name <> ALL ($7::text[])
         ), known AS (
           INSERT INTO audit_exporter_settings (name, commitment)
           SELECT * FROM unnest($7::text[], $8::text[])
           ON CONFLICT (name) DO UPDATE SET commitment = excluded.commitment
         )
         SELECT audit_append_to_log_chain($1, $2, $3, $4, $5, $6)`,
        [...columns, [...settings.keys()], [...settings.values()]],
      );
    },
  };
}
