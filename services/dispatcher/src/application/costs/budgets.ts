import { budgetWarningShare } from '@lemniscate/shared/costs/budget-warning.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import { subjectsWith } from '../access/role-bindings.ts';
import { putIntoInbox } from '../inbox/inbox.ts';
import { tellTargets } from '../notify/tell-targets.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { correctionsLock, heldUsd, spentOfSlice } from './spent-slices.ts';

/** A budget as it is shown. */
export interface CostBudget extends Record<string, unknown> {
  readonly scope: 'project' | 'agent';
  readonly name: string;
  readonly amountUsd: string;
  readonly month: string;
  readonly grantedUsd: string;
  readonly state: 'ok' | 'warning' | 'exhausted';
  readonly version: number;
}

/** A session's next slice is this part of the budget: small enough to leave room for others, large enough to be rare. */
const sliceShare = 0.01;
const thisMonth = `date_trunc('month', now() AT TIME ZONE 'UTC')::date`;

const shown = `scope, name, trim_scale(amount_usd)::text AS "amountUsd", month::text AS month,
  trim_scale(granted_usd)::text AS "grantedUsd",
  CASE WHEN granted_usd >= amount_usd THEN 'exhausted' WHEN granted_usd >= amount_usd * ${budgetWarningShare} THEN 'warning'
    ELSE 'ok' END AS state, version`;

export async function listBudgets(database: Database): Promise<CostBudget[]> {
  await database.query(`${newMonth} WHERE month < ${thisMonth}`);
  return database.query<CostBudget>(`SELECT ${shown} FROM cost_budgets ORDER BY scope, name`);
}

/** Sets a budget; null removes it. What sessions hold already stays held. */
export async function setBudget(
  tx: Transaction,
  scope: CostBudget['scope'],
  name: string,
  amountUsd: string | null,
): Promise<void> {
  if (amountUsd === null) {
    await tx.query('DELETE FROM cost_budgets WHERE scope = $1 AND name = $2', [scope, name]);
    return;
  }
  await tx.query(
    `INSERT INTO cost_budgets (scope, name, amount_usd) VALUES ($1, $2, $3)
     ON CONFLICT (scope, name) DO UPDATE SET amount_usd = $3, warned = false, updated_at = now()`,
    [scope, name, amountUsd],
  );
}

/** A budget begins anew with each month; slices of the month before belong to that month. */
const newMonth = `UPDATE cost_budgets SET month = ${thisMonth}, granted_usd = 0, warned = false`;

/** What a session asks its budgets for. */
export interface Escrow {
  readonly sessionId: string;
  /** Worst case of the exchange that is about to begin; null where its model has no price. */
  readonly reserved: string | null;
}

/** A budget that does not cover a session's next exchange yet, and by how much. */
export interface ShortBudget extends Record<string, unknown> {
  readonly scope: CostBudget['scope'];
  readonly name: string;
  readonly short: string;
  readonly amount: string;
  /** One of this session's exchanges of the month that has no price, or a fee without one in it; null: all is priced. */
  readonly unpriced: UnpricedExchange | null;
}

interface UnpricedExchange {
  readonly id: string;
  readonly provider: string;
  readonly served: string;
  /** The model that was asked, by which a correction finds it. */
  readonly model: string;
}

/**
 * Makes sure that every budget over the session covers what it holds and what it is about to reserve. A session takes
 * slices: the budget's row is touched once a slice, and the sum of all slices never passes the amount, so calls in
 * parallel cannot overshoot. Runs in the transaction that holds the session's lock.
 * @param short what `shortBudgets` has found under that lock
 * @returns the words for the person when a budget does not have the room; null otherwise
 */
export async function drawSlices(
  tx: Transaction,
  escrow: Escrow,
  short: readonly ShortBudget[],
): Promise<string | null> {
  for (const budget of short) {
    if (budget.unpriced !== null) return unpricedWords(budget, budget.unpriced);
    if (escrow.reserved === null)
      return `The ${budget.scope} ${budget.name} has a budget of money, but the model has no price. Add the price.`;
    if (!(await grant(tx, escrow, budget)))
      return `The ${budget.scope} ${budget.name} has used up its ${budget.amount} US dollars of this month. Raise the budget with "lemniscate costs budget".`;
  }
  return null;
}

function unpricedWords(
  { scope, name }: ShortBudget,
  { id, provider, model, served }: UnpricedExchange,
): string {
  return `The ${scope} ${name} has a budget of money, but what this session used of the model ${served} (${id}) has no price, or a fee of it has none. Add the price and run "lemniscate costs correct ${provider} ${model}"; a fee that no price book holds, such as a container's, needs a policy without the tool.`;
}

/**
 * The budgets over a session that do not cover its next exchange with what it holds of them, in an order that all
 * sessions lock them in. Sent before the first await, behind the statement that locks the session.
 */
export async function shortBudgets(tx: Transaction, escrow: Escrow): Promise<ShortBudget[]> {
  return tx.query<ShortBudget>(
    `WITH held AS (
       SELECT coalesce(sum(${heldUsd}), 0) AS usd,
         (array_agg(jsonb_build_object('id', id, 'provider', provider, 'model', model,
           'served', coalesce(served_model, model)) ORDER BY id)
           FILTER (WHERE state <> 'begun' AND (cost_usd IS NULL OR (complete AND cost_is_lower_bound))))[1] AS unpriced
       FROM usage WHERE session_id = $1 AND begun_at >= ${thisMonth} AT TIME ZONE 'UTC')
     SELECT b.scope, b.name, trim_scale(b.amount_usd)::text AS amount,
       trim_scale(held.usd + coalesce($2::numeric, 0) - coalesce(s.granted_usd, 0))::text AS short, held.unpriced
     FROM sessions o JOIN cost_budgets b
         ON (b.scope = 'project' AND b.name = o.project_id) OR (b.scope = 'agent' AND b.name = o.agent)
       CROSS JOIN held
       LEFT JOIN cost_slices s ON s.scope = b.scope AND s.name = b.name AND s.month = ${thisMonth}
         AND s.session_id = $1 AND NOT s.returned
     WHERE o.id = $1
       AND ($2::numeric IS NULL OR held.unpriced IS NOT NULL OR held.usd + $2::numeric > coalesce(s.granted_usd, 0))
     ORDER BY b.scope, b.name`,
    [escrow.sessionId, escrow.reserved],
  );
}

async function grant(tx: Transaction, escrow: Escrow, budget: ShortBudget): Promise<boolean> {
  const key = [budget.scope, budget.name];
  await tx.query(`${newMonth} WHERE scope = $1 AND name = $2 AND month < ${thisMonth}`, key);
  // A whole slice while there is room for one, then just what is needed.
  const [granted] = await tx.query<{ usd: string }>(
    `UPDATE cost_budgets b SET granted_usd = granted_usd + g.usd, updated_at = now()
     FROM (SELECT CASE WHEN granted_usd + greatest($3::numeric, amount_usd * ${sliceShare}) <= amount_usd
         THEN greatest($3::numeric, amount_usd * ${sliceShare}) ELSE $3::numeric END AS usd
       FROM cost_budgets WHERE scope = $1 AND name = $2 FOR UPDATE) g
     WHERE b.scope = $1 AND b.name = $2 AND granted_usd + g.usd <= amount_usd RETURNING g.usd::text AS usd`,
    [...key, budget.short],
  );
  if (granted === undefined) return false;
  await tx.query(
    `INSERT INTO cost_slices (scope, name, month, session_id, granted_usd) VALUES ($1, $2, ${thisMonth}, $3, $4)
     ON CONFLICT (scope, name, month, session_id) DO UPDATE
       SET granted_usd = CASE WHEN cost_slices.returned THEN 0 ELSE cost_slices.granted_usd END + excluded.granted_usd,
         returned = false`,
    [...key, escrow.sessionId, granted.usd],
  );
  return true;
}

/**
 * Gives back what ended sessions did not spend of their slices, and tells of the budgets that have come to their warning.
 * What such a session spent stays granted: its slice becomes as large as that.
 */
export async function returnSlices(
  database: Database,
  newId: NewId,
): Promise<{ readonly returned: number; readonly warned: readonly CostBudget[] }> {
  return database.transaction(async (tx) => {
    // Before anything comes back: what is held right now is what a person must know of.
    const warned = await tx.query<CostBudget>(
      `UPDATE cost_budgets SET warned = true WHERE NOT warned AND granted_usd >= amount_usd * ${budgetWarningShare}
         AND month = ${thisMonth} RETURNING ${shown}`,
    );
    for (const budget of warned) await tellOfWarning(tx, newId, budget);
    // A slice that is measured while a correction changes what it is measured by would be neither old nor new.
    const [lock] = await tx.query<{ free: boolean }>(
      `SELECT pg_try_advisory_xact_lock_shared(${correctionsLock}) AS free`,
    );
    if (lock?.free !== true) return { returned: 0, warned };
    const rows = await tx.query<{ scope: string; name: string; usd: string }>(
      `WITH over AS (
         SELECT c.scope, c.name, c.month, c.session_id, c.granted_usd, ${spentOfSlice} AS spent
         FROM cost_slices c JOIN sessions s ON s.id = c.session_id
         WHERE NOT c.returned AND s.ended_at < now() - interval '10 seconds'
           AND NOT EXISTS (SELECT FROM usage u WHERE u.session_id = s.id AND u.state = 'begun')
         ORDER BY c.scope, c.name LIMIT 200 FOR UPDATE OF c SKIP LOCKED),
       shrunk AS (
         UPDATE cost_slices c SET returned = true, granted_usd = over.spent FROM over
         WHERE (c.scope, c.name, c.month, c.session_id) = (over.scope, over.name, over.month, over.session_id)
         RETURNING c.scope, c.name, c.month, over.granted_usd - over.spent AS back)
       SELECT scope, name, sum(back)::text AS usd FROM shrunk WHERE month = ${thisMonth} GROUP BY 1, 2 ORDER BY 1, 2`,
    );
    for (const { scope, name, usd } of rows)
      await tx.query(
        `UPDATE cost_budgets SET granted_usd = greatest(0, granted_usd - $3)
         WHERE scope = $1 AND name = $2 AND month = ${thisMonth}`,
        [scope, name, usd],
      );
    return { returned: rows.length, warned };
  });
}

/** Tells those outside who want to know, and puts it into the inboxes of those whom it concerns. */
async function tellOfWarning(tx: Transaction, newId: NewId, budget: CostBudget): Promise<void> {
  const { scope, name, amountUsd, grantedUsd, month } = budget;
  const about = `budget:${scope}:${name}:${month}:${amountUsd}`;
  const project = scope === 'project' ? name : everyProject;
  await tellTargets(tx, {
    project: scope === 'project' ? name : null,
    type: 'budget.warning',
    about,
    data: { scope, name, amountUsd, grantedUsd, month },
  });
  const [people, using] = await Promise.all([
    subjectsWith(tx, project, ['administrator', 'finops', 'project_admin']),
    tx.query<{ subject: string }>(
      `SELECT DISTINCT s.opened_by AS subject FROM cost_slices c JOIN sessions s ON s.id = c.session_id
       WHERE c.scope = $1 AND c.name = $2 AND c.month = $3::date AND NOT c.returned ORDER BY 1 LIMIT ${mostTold}`,
      [scope, name, month],
    ),
  ]);
  await putIntoInbox({ newId }, tx, [...people, ...using.map(({ subject }) => subject)], {
    kind: 'budget',
    project,
    title: `The budget of ${scope} ${name} has come to its warning: ${grantedUsd} of ${amountUsd} US dollars are granted`,
    about,
  });
}

/** People with sessions under way that are told; those who answer for the budget are told in any case. */
const mostTold = 200;

/** Names the cost centre of a project's future costs; what was appended keeps the one it had. */
export async function setCostCentre(tx: Transaction, project: string, costCentre: string): Promise<void> {
  const rows = await tx.query(
    `INSERT INTO cost_centres (project_id, cost_centre)
     SELECT id, $2 FROM projects WHERE id = $1
     ON CONFLICT (project_id) DO UPDATE SET cost_centre = $2, updated_at = now() RETURNING 1`,
    [project, costCentre],
  );
  if (rows.length === 0)
    throw new CodedError('project_unknown', `There is no project ${project}.`, { project });
}

/** The cost centre of a project's future costs; version 0: none is named. @throws CodedError `project_unknown` */
export async function readCostCentre(
  tx: Transaction,
  project: string,
): Promise<{ costCentre: string | null; version: number }> {
  const [row] = await tx.query<{ costCentre: string | null; version: number }>(
    `SELECT c.cost_centre AS "costCentre", coalesce(c.version, 0) AS version
     FROM projects p LEFT JOIN cost_centres c ON c.project_id = p.id WHERE p.id = $1`,
    [project],
  );
  if (row !== undefined) return row;
  throw new CodedError('project_unknown', `There is no project ${project}.`, { project });
}

/** What a slot of a pool costs, the latest day first; version 0: it has no price. */
export async function readPoolPrices(
  tx: Transaction,
  pool: string,
): Promise<{ prices: { fromDay: string; usdPerSlotHour: string }[]; version: number }> {
  const rows = await tx.query<{ fromDay: string; usdPerSlotHour: string; version: number }>(
    `SELECT from_day::text AS "fromDay", trim_scale(usd_per_slot_hour)::text AS "usdPerSlotHour",
       max(version) OVER () AS version
     FROM pool_prices WHERE pool = $1 ORDER BY from_day DESC LIMIT 1000`,
    [pool],
  );
  return {
    prices: rows.map(({ fromDay, usdPerSlotHour }) => ({ fromDay, usdPerSlotHour })),
    version: rows[0]?.version ?? 0,
  };
}

/** Names what a slot of a pool costs from a day on. */
export async function setPoolPrice(
  tx: Transaction,
  pool: string,
  fromDay: string,
  usdPerSlotHour: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO pool_prices (pool, from_day, usd_per_slot_hour) VALUES ($1, $2, $3)
     ON CONFLICT (pool, from_day) DO UPDATE SET usd_per_slot_hour = $3`,
    [pool, fromDay, usdPerSlotHour],
  );
}
