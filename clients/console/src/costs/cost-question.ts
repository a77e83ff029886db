import type { CostRow } from '@lemniscate/shared/costs/cost-report.ts';

/** What is asked for: a span of days, and one project or all. */
export interface CostQuestion {
  readonly from: string;
  readonly to: string;
  readonly project: string;
}

/** Share of what was read that came from the provider's cache. */
export function cacheShare(row: CostRow): number {
  const read = row.inputTokens + row.cacheReadTokens + row.cacheWriteTokens;
  return read === 0 ? 0 : row.cacheReadTokens / read;
}
