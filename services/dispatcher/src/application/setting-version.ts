import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from './ports/transaction.ts';

/** Tables whose rows have a version, and the columns that name a setting in them. */
const keys = {
  pool_settings: ['pool'],
  cost_budgets: ['scope', 'name'],
  cost_centres: ['project_id'],
  pool_prices: ['pool'],
  account_links: ['source', 'account'],
  role_bindings: ['kind', 'principal', 'role', 'project_id'],
  intake_pauses: ['scope'],
  revoked_users: ['subject'],
  credentials: ['owner_kind', 'owner_id', 'name'],
} as const;

/** A setting that several people change. */
export interface Setting {
  readonly table: keyof typeof keys;
  /** Values of the table's key, in its order. */
  readonly key: readonly string[];
  /** Its name for the sentence, such as `budget of project "lab"`. */
  readonly what: string;
}

/** The version of a setting; 0: there is none. */
export async function versionOfSetting(tx: Transaction, { table, key }: Setting): Promise<number> {
  const named = keys[table].map((column, index) => `${column} = $${index + 1}`).join(' AND ');
  // of a pool's prices the latest: each change of one is a change of the pool's
  const [row] = await tx.query<{ version: number | null }>(
    `SELECT max(version) AS version FROM ${table} WHERE ${named}`,
    key,
  );
  return row?.version ?? 0;
}

/**
 * Changes a setting against the version that was seen; nobody else changes it meanwhile, also where there is no row yet to
 * lock.
 * @param seen 0: the caller saw that there is none
 * @returns the version after it; 0: it is removed
 * @throws CodedError `version_conflict`
 */
export async function changeSetting(
  tx: Transaction,
  setting: Setting,
  seen: number,
  change: () => Promise<void>,
): Promise<number> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    JSON.stringify([setting.table, ...setting.key]),
  ]);
  const version = await versionOfSetting(tx, setting);
  if (version !== seen)
    throw new CodedError(
      'version_conflict',
      `The ${setting.what} is at version ${version}, not ${seen}. Read it again and change that.`,
      { version },
    );
  await change();
  return versionOfSetting(tx, setting);
}
