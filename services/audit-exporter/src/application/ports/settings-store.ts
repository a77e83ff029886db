import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';

/** What the exporter was set to when it led last. */
export interface SettingsStore {
  /** The key of the commitments. */
  key(): Promise<Uint8Array>;
  /** Name to commitment; empty before the first start. */
  known(): Promise<ReadonlyMap<string, string>>;
  /** Replaces what is known and appends the entry that tells of it, in one transaction. */
  replace(settings: ReadonlyMap<string, string>, entry: AuditDraft): Promise<void>;
}
