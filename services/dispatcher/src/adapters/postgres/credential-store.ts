import type { CredentialView } from '@lemniscate/shared/api/credential.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { newKey, seal, unseal } from '../../application/content/envelope.ts';
import type { ContentKeys } from '../../application/ports/content-keys.ts';
import type { CredentialOwner, CredentialStore } from '../../application/ports/credential-store.ts';

interface SealedRow extends Record<string, unknown> {
  readonly name: string;
  readonly wrapped: Buffer;
  readonly master_key: string;
  readonly sealed: Buffer;
}

interface ListedRow extends Record<string, unknown> {
  readonly name: string;
  readonly version: number;
  readonly changed_by: string;
  readonly changed_at: string;
}

/** Bound into the ciphertext: a row copied under another owner or name opens as nothing. */
const about = ({ kind, id }: CredentialOwner, name: string): string => `credential ${kind} ${id} ${name}`;

/**
 * Credentials as encrypted rows: a key for each, wrapped by the master key.
 * @param master null: nothing can be set or opened
 */
export function createCredentialStore(master: ContentKeys | null): CredentialStore {
  function requireMaster(): ContentKeys {
    if (master !== null) return master;
    throw new CodedError(
      'request_invalid',
      'Credentials are kept only encrypted, and this fleet has no master key for them. Set LEMNISCATE_CREDENTIAL_KEY or LEMNISCATE_CREDENTIAL_KMS_KEY.',
    );
  }

  async function openRow(owner: CredentialOwner, row: SealedRow): Promise<string> {
    const key = await requireMaster().unwrap(row.wrapped, row.master_key);
    const value = unseal(key, about(owner, row.name), row.sealed);
    if (value !== null) return value.toString();
    throw new CodedError(
      'storage_failed',
      `The credential ${row.name} of ${owner.kind} "${owner.id}" is not what was stored. Set it again.`,
      { credential: row.name },
    );
  }

  return {
    set: async (tx, owner, name, value, by) => {
      const keys = requireMaster();
      const key = newKey();
      const [row] = await tx.query<{ version: number }>(
        `INSERT INTO credentials (owner_kind, owner_id, name, wrapped, master_key, sealed, changed_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (owner_kind, owner_id, name) DO UPDATE SET wrapped = $4, master_key = $5,
           sealed = $6, changed_by = $7, changed_at = now()
         RETURNING version`,
        [
          owner.kind,
          owner.id,
          name,
          Buffer.from(await keys.wrap(key)),
          keys.name,
          seal(key, about(owner, name), Buffer.from(value)),
          by,
        ],
      );
      if (row === undefined) throw new Error('a credential that was set is gone');
      return row.version;
    },
    remove: async (tx, owner, name) => {
      const rows = await tx.query(
        'DELETE FROM credentials WHERE owner_kind = $1 AND owner_id = $2 AND name = $3 RETURNING name',
        [owner.kind, owner.id, name],
      );
      return rows.length > 0;
    },
    list: async (tx, owner) => {
      const rows = await tx.query<ListedRow>(
        `SELECT name, version, changed_by, changed_at FROM credentials WHERE owner_kind = $1 AND owner_id = $2
         ORDER BY name`,
        [owner.kind, owner.id],
      );
      return rows.map((row): CredentialView => ({
        name: row.name,
        version: row.version,
        changedBy: row.changed_by,
        changedAt: row.changed_at,
      }));
    },
    open: async (tx, owner, names) => {
      if (names.length === 0) return {};
      const rows = await tx.query<SealedRow>(
        `SELECT name, wrapped, master_key, sealed FROM credentials
         WHERE owner_kind = $1 AND owner_id = $2 AND name = ANY($3)`,
        [owner.kind, owner.id, names],
      );
      const missing = names.filter((name) => !rows.some((row) => row.name === name));
      if (missing.length > 0)
        throw new CodedError(
          'credential_missing',
          `No value is set for ${missing.join(', ')} of ${owner.kind} "${owner.id}". Set it, or take it out of the definition.`,
          { missing },
        );
      const opened = await Promise.all(
        rows.map(async (row) => [row.name, await openRow(owner, row)] as const),
      );
      return Object.fromEntries(opened);
    },
  };
}
