import type { SessionFacets, SessionRow, SessionRows } from '@lemniscate/shared/api/session-row.ts';
import { shownInstruction } from '@lemniscate/shared/api/session-row.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { Transaction } from '../ports/transaction.ts';
import { cursorOf, readCursor } from './session-cursor.ts';

/** Which sessions a list shows. */
export interface RowFilter {
  /** Part of the instruction, or the beginning of an id. */
  readonly search?: string | undefined;
  readonly states?: readonly SessionState[] | undefined;
  readonly project?: string | undefined;
  readonly openedBy?: string | undefined;
  /** Only sessions of these projects, which the reader may see; null: of every project. */
  readonly seen: readonly string[] | null;
}

type DbRow = Record<string, unknown> & Omit<SessionRow, 'diff'> & { readonly diff: SessionRow['diff'] };

/**
 * Rows of a list, newest first, for a selection of sessions. `jsonb` sums of the diff are made of the summary alone.
 * @param where a condition on `sessions`; `$n` placeholders belong to the caller
 */
export async function selectRows(
  tx: Transaction,
  where: string,
  values: readonly unknown[],
  limit: number,
): Promise<SessionRow[]> {
  return tx.query<DbRow>(
    `SELECT s.id, s.project_id AS project, s.state, s.phase, s.reason,
       left(s.instruction, ${shownInstruction}) AS instruction, s.model, s.surface, s.opened_by AS "openedBy",
       s.server_id AS server, s.attempt, s.created_at AS "createdAt", s.running_at AS "runningAt",
       s.ended_at AS "endedAt", u.cost AS "totalCostUsd", u.priced, w.waiting,
       CASE WHEN d.session_id IS NULL THEN NULL ELSE jsonb_build_object('state', d.state,
         'files', jsonb_array_length(d.summary -> 'files'), 'insertions', d.summary -> 'insertions',
         'deletions', d.summary -> 'deletions') END AS diff
     FROM (SELECT * FROM sessions WHERE ${where} ORDER BY id DESC LIMIT ${limit}) s
     LEFT JOIN diffs d ON d.session_id = s.id
     CROSS JOIN LATERAL (
       SELECT trim_scale(coalesce(sum(cost_usd), 0))::text AS cost,
         coalesce(bool_and(cost_usd IS NOT NULL) FILTER (WHERE usage.state <> 'begun'), true) AS priced
       FROM usage WHERE usage.session_id = s.id) u
     CROSS JOIN LATERAL (
       SELECT count(*)::int AS waiting FROM approvals a WHERE a.session_id = s.id AND a.state = 'waiting') w
     ORDER BY s.id DESC`,
    values,
  );
}

/** A page of rows. @throws CodedError `request_invalid` for a cursor that is none of ours */
export async function listRows(
  tx: Transaction,
  filter: RowFilter,
  page: { readonly cursor?: string | undefined; readonly limit: number },
): Promise<SessionRows> {
  const { where, values } = conditionOf(filter);
  if (page.cursor !== undefined) values.push(readCursor(page.cursor));
  const behind = page.cursor === undefined ? '' : ` AND id < $${values.length}`;
  const found = await selectRows(tx, where + behind, values, page.limit + 1);
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > page.limit && last !== undefined ? cursorOf(last.id) : null };
}

/** How many sessions of each state, project and person match; a facet ignores its own filter. */
export async function countFacets(tx: Transaction, filter: RowFilter): Promise<SessionFacets> {
  const count = async (
    column: string,
    without: 'states' | 'project' | 'openedBy',
  ): Promise<Record<string, number>> => {
    const { where, values } = conditionOf({ ...filter, [without]: undefined });
    const rows = await tx.query<{ key: string; count: number }>(
      `SELECT ${column} AS key, count(*)::int AS count FROM sessions WHERE ${where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200`,
      values,
    );
    return Object.fromEntries(rows.map((row) => [row.key, row.count]));
  };
  return {
    states: await count('state', 'states'),
    projects: await count('project_id', 'project'),
    people: await count('opened_by', 'openedBy'),
  };
}

function conditionOf(filter: RowFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [];
  const conditions = ['true'];
  const add = (value: unknown, condition: (placeholder: string) => string): void => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const { search, states, project, openedBy } = filter;
  if (search !== undefined && search !== '')
    add(
      search.replaceAll(/[\\%_]/g, '\\$&'),
      (text) => `(instruction ILIKE '%' || ${text} || '%' OR id LIKE ${text} || '%')`,
    );
  if (states !== undefined && states.length > 0) add(states, (list) => `state = ANY(${list})`);
  if (project !== undefined) add(project, (id) => `project_id = ${id}`);
  if (openedBy !== undefined) add(openedBy, (subject) => `opened_by = ${subject}`);
  if (filter.seen !== null) add(filter.seen, (list) => `project_id = ANY(${list})`);
  return { where: conditions.join(' AND '), values };
}
