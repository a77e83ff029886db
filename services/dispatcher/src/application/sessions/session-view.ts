import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import { allowance, workedMinutes } from '@lemniscate/shared/budget/session-budget.ts';
import type { BudgetUse } from '@lemniscate/shared/budget/session-budget.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import type { Transaction } from '../ports/transaction.ts';
import { compareUsage, reportedUsageSql } from './reported-usage.ts';
import type { ReportedRow } from './reported-usage.ts';
import { queueColumns, queueJoins, queueOutlook } from './queue-outlook.ts';
import type { QueueRow } from './queue-outlook.ts';
import type { SessionRow } from './session-row.ts';

type ShownColumn =
  | 'id'
  | 'version'
  | 'project_id'
  | 'agent'
  | 'agent_version'
  | 'state'
  | 'phase'
  | 'reason'
  | 'message'
  | 'attempt'
  | 'server_id'
  | 'instruction'
  | 'repository'
  | 'runtime'
  | 'model'
  | 'surface'
  | 'execution'
  | 'opened_by'
  | 'policy_digest'
  | 'parent_id';

// Of the policy the budgets alone: the whole of it is most of a session's row, and was read, sent and parsed for each view.
const columns = `s.id, s.version, s.project_id, s.agent, s.agent_version, s.state, s.phase, s.reason, s.message, s.attempt, s.server_id,
  s.instruction, s.repository, s.runtime, s.model, s.surface, s.execution, s.opened_by, s.policy_digest, s.parent_id, s.driver,
  s.timings_ms, s.created_at, s.started_at, s.running_at, s.ended_at, s.actions_used, s.commands_used, s.extensions_used,
  s.waited_ms, s.budget_from, s.bounds, s.policy -> 'budgets' AS budgets`;

interface ViewRow extends Pick<SessionRow, ShownColumn>, QueueRow, BudgetUse, Record<string, unknown> {
  /** Null in rows of an archive, whose policy may be of before there were bounds. */
  readonly budgets: Policy['budgets'] | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly driver: string | null;
  readonly timings_ms: Record<string, number>;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_usd: string;
  readonly priced: boolean;
  readonly diff_summary: DiffSummary | null;
  readonly diff_state: 'offered' | 'accepted' | 'rejected' | 'discarded' | null;
  readonly diff_accepted_files: string[] | null;
  readonly reported: ReportedRow | null;
  /** Whether nobody watched over the fleet for a while since its minutes count, and it has not ended. */
  readonly was_alone: boolean;
}

/** Which sessions a view is made of; `$n` placeholders belong to the caller. */
export interface ViewSelection {
  readonly where: string;
  readonly values: readonly unknown[];
  readonly limit: number;
}

/**
 * Sessions as the API shows them, newest first. Ids sort by birth, so the primary key is the order. An exchange that
 * is still running counts with what is known of it; a session with an unpriced exchange says so.
 */
export async function selectSessionViews(tx: Transaction, selection: ViewSelection): Promise<SessionView[]> {
  const rows = await tx.query<ViewRow>(
    `SELECT ${columns}, u.*, d.summary AS diff_summary, d.state AS diff_state, d.accepted_files AS diff_accepted_files,
       ${queueColumns}, ${reportedUsageSql} AS reported, coalesce(s.ended_at, clock_timestamp()) AS now,
       s.ended_at IS NULL AND EXISTS (
         SELECT FROM fleet_unwatched WHERE until > coalesce(s.budget_from, s.running_at)) AS was_alone
     FROM (SELECT * FROM sessions WHERE ${selection.where} ORDER BY id DESC LIMIT ${selection.limit}) s
     LEFT JOIN diffs d ON d.session_id = s.id
     ${queueJoins}
     CROSS JOIN LATERAL (
       SELECT coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
         coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
         coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
         coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
         trim_scale(coalesce(sum(cost_usd), 0))::text AS cost_usd,
         coalesce(bool_and(cost_usd IS NOT NULL) FILTER (WHERE usage.state <> 'begun'), true) AS priced
       -- One array: an OR with a subquery was planned as a scan of everybody's usage.
       FROM usage WHERE usage.session_id = ANY (ARRAY(
         SELECT s.id UNION ALL
         SELECT c.id FROM sessions c WHERE c.parent_id IS NOT NULL AND c.ancestors @> ARRAY[s.id]))
     ) u
     ORDER BY s.id DESC`,
    selection.values,
  );
  return Promise.all(rows.map(async (row) => toView(await creditAbsence(tx, row))));
}

/** Its row knows what it waited up to its last decision; that it stood still since is seen from the record of absences. */
async function creditAbsence(tx: Transaction, row: ViewRow): Promise<ViewRow> {
  if (!row.was_alone) return row;
  return { ...row, waited_ms: Math.max(row.waited_ms, await readWaitedMs(tx, row.id)) };
}

/**
 * The same for those of these sessions that have no attempt yet: only attempts use models, make diffs and open sub-agents,
 * so none of that is looked for.
 */
export async function selectUnstartedViews(tx: Transaction, ids: readonly string[]): Promise<SessionView[]> {
  const rows = await tx.query<Omit<ViewRow, keyof typeof unused>>(
    `SELECT ${columns}, ${queueColumns}, coalesce(s.ended_at, clock_timestamp()) AS now
     FROM sessions s ${queueJoins} WHERE s.id = ANY ($1) AND s.attempt = 0`,
    [ids],
  );
  return rows.map((row) => toView({ ...row, ...unused } as ViewRow));
}

const unused = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: '0',
  priced: true,
  diff_summary: null,
  diff_state: null,
  diff_accepted_files: null,
  reported: null,
} as const;

function toView(row: ViewRow): SessionView {
  const usage = {
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
  };
  return {
    id: row.id,
    version: row.version,
    project: row.project_id,
    agent: { id: row.agent, version: row.agent_version },
    state: row.state,
    phase: row.phase,
    reason: row.reason as SessionView['reason'],
    message: row.message,
    exitCode: sessionHasEnded(row.state) ? sessionEnds[row.reason as EndReason].exitCode : null,
    attempt: row.attempt,
    server: row.server_id,
    instruction: row.instruction,
    repository: row.repository,
    runtime: row.runtime,
    model: row.model,
    surface: row.surface,
    execution: row.execution as SessionView['execution'],
    openedBy: row.opened_by,
    policyDigest: row.policy_digest,
    createdAt: row.created_at,
    startedAt: row.started_at,
    runningAt: row.running_at,
    endedAt: row.ended_at,
    timingsMs: { ...row.timings_ms, ...measuredTimings(row) },
    sandbox: { driver: row.driver },
    usage,
    totalCostUsd: row.cost_usd,
    priced: row.priced,
    reportedUsage: compareUsage(usage, row.reported),
    diff:
      row.diff_summary === null || row.diff_state === null
        ? null
        : { ...row.diff_summary, state: row.diff_state, acceptedFiles: row.diff_accepted_files },
    budget: budgetOf(row),
    parent: row.parent_id,
    queue: row.state === 'pending' ? queueOutlook(row) : null,
  };
}

function budgetOf(row: ViewRow): SessionView['budget'] {
  const { budgets } = row;
  if (budgets === null) return null;
  return {
    ...allowance(budgets, row),
    actionsUsed: row.actions_used,
    minutesUsed: Math.round(workedMinutes(row) * 10) / 10,
  };
}

/** Spans between the stamps of the row, in milliseconds; a span without its end is left out. */
function measuredTimings(
  row: Pick<ViewRow, 'created_at' | 'started_at' | 'running_at' | 'ended_at'>,
): Record<string, number> {
  const spans: readonly [name: string, from: string | null, to: string | null][] = [
    ['queued', row.created_at, row.started_at],
    ['starting', row.started_at, row.running_at],
    ['running', row.running_at, row.ended_at],
    ['total', row.created_at, row.ended_at],
  ];
  return Object.fromEntries(
    spans.flatMap(([name, from, to]) =>
      from === null || to === null ? [] : [[name, Math.max(0, Date.parse(to) - Date.parse(from))]],
    ),
  );
}
