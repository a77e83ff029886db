import type { AuditSearch, Exporters } from '@lemniscate/shared/audit/search-api.ts';

/** What is looked for in the log of all chains. Every member narrows; `text` is part of the entry's JSON. */
export interface AuditFilter {
  /** First moment, and the moment after the last. */
  readonly from: string;
  readonly to: string;
  readonly types: readonly string[];
  readonly chain: string | null;
  readonly text: string | null;
}

/** Reads across chains. */
export interface AuditSearcher {
  /** @param before where the page before ended; @throws CodedError `request_invalid` for one that is none of ours */
  search(filter: AuditFilter, before: string | null, limit: number): Promise<AuditSearch>;
  exporters(): Promise<Exporters>;
}
