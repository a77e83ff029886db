import type { SessionView } from '@lemniscate/shared/api/session.ts';

type Totals = SessionView['usage'];

/** Sums over the attempts of a session, as SQL gives them; null where no program has said anything. */
export interface ReportedRow {
  readonly input: number;
  readonly output: number;
  readonly read: number;
  readonly write: number;
  readonly cost: string | null;
}

/** SQL for the row above, of the session `s`. */
export const reportedUsageSql = `(
       SELECT jsonb_build_object(
         'input', sum((reported_usage ->> 'inputTokens')::bigint),
         'output', sum((reported_usage ->> 'outputTokens')::bigint),
         'read', sum((reported_usage ->> 'cacheReadTokens')::bigint),
         'write', sum((reported_usage ->> 'cacheWriteTokens')::bigint),
         'cost', trim_scale(sum((reported_usage ->> 'costUsd')::numeric))::text)
       FROM attempts WHERE session_id = s.id AND reported_usage IS NOT NULL HAVING count(*) > 0
     )`;

/** What the program counted beside what the gateway metered: the difference is shown, and the meter is what counts. */
export function compareUsage(metered: Totals, row: ReportedRow | null): SessionView['reportedUsage'] {
  if (row === null) return null;
  return {
    inputTokens: row.input,
    outputTokens: row.output,
    cacheReadTokens: row.read,
    cacheWriteTokens: row.write,
    costUsd: row.cost,
    difference: {
      inputTokens: metered.inputTokens - row.input,
      outputTokens: metered.outputTokens - row.output,
      cacheReadTokens: metered.cacheReadTokens - row.read,
      cacheWriteTokens: metered.cacheWriteTokens - row.write,
    },
  };
}
