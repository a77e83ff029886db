import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database } from '../ports/transaction.ts';

export interface SettingsDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  /** The service whose settings they are. */
  readonly self: string;
}

/**
 * Compares a service's settings with those of its last start and writes down which are others. Values are kept as keyed
 * commitments, for many are secrets; numbers and switches, which are no secrets, are told.
 * @param settings name to value, as text
 * @returns the names that changed
 */
export async function recordSettings(
  { database, audit, self }: SettingsDeps,
  settings: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  return database.transaction(async (tx) => {
    // two starts of one service at the same moment: one tells
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('service-settings:' || $1, 0))`, [self]);
    const before = await tx.query<{ name: string; commitment: string }>(
      'SELECT name, commitment FROM service_settings WHERE service = $1',
      [self],
    );
    const known = new Map(before.map(({ name, commitment }) => [name, commitment]));
    const now = new Map(
      [...settings].map(([name, value]) => [name, audit.commit('setting', `${name}=${value}`)]),
    );
    const names = [...new Set([...known.keys(), ...now.keys()])].toSorted();
    const changed = names.filter((name) => known.get(name) !== now.get(name));
    if (changed.length === 0) return [];
    await tx.query('DELETE FROM service_settings WHERE service = $1 AND name = ANY ($2)', [self, changed]);
    await tx.query(
      `INSERT INTO service_settings (service, name, commitment)
       SELECT $1, * FROM unnest($2::text[], $3::text[])`,
      [self, changed.filter((name) => now.has(name)), changed.flatMap((name) => now.get(name) ?? [])],
    );
    const told = Object.fromEntries(
      changed.flatMap((name) => {
        const value = settings.get(name);
        return value !== undefined && isHarmless(value) ? [[name, value]] : [];
      }),
    );
    await audit.append(tx, fleetChain, [
      {
        type: 'config.changed',
        subject: self,
        body: { service: self, changed, told, first: known.size === 0 },
      },
    ]);
    return changed;
  });
}

/** A number of at most ten digits or a switch: too little to be a secret. */
const isHarmless = (value: string): boolean => /^(\d{1,10}|true|false)$/.test(value);
