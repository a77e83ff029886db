import type { CredentialView } from '@lemniscate/shared/api/credential.ts';
import type { Transaction } from './transaction.ts';

/** Whose a credential is: an agent's, one of the MCP servers', a hook's, or a receiver's of what happened. Names are unique within an owner. */
export interface CredentialOwner {
  readonly kind: 'agent' | 'mcp_server' | 'hook' | 'notify_target';
  readonly id: string;
}

/** Secrets that are used and never shown: what was set can be listed by name, replaced, removed, and opened for use. */
export interface CredentialStore {
  /**
   * Sets or replaces a value.
   * @returns its version, which none before it had
   * @throws CodedError `request_invalid` where the fleet has no master key
   */
  set(tx: Transaction, owner: CredentialOwner, name: string, value: string, by: string): Promise<number>;
  /** @returns whether there was one */
  remove(tx: Transaction, owner: CredentialOwner, name: string): Promise<boolean>;
  /** By name; never a value. */
  list(tx: Transaction, owner: CredentialOwner): Promise<CredentialView[]>;
  /**
   * Values for their one use, by name. For what leaves this process towards whoever needs it and is written down nowhere.
   * @throws CodedError `credential_missing` that lists the names without a value; `storage_failed` where the master key
   *   does not open one
   */
  open(
    tx: Transaction,
    owner: CredentialOwner,
    names: readonly string[],
  ): Promise<Readonly<Record<string, string>>>;
}
