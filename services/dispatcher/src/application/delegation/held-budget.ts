import type { HeldByChildren } from '@lemniscate/shared/budget/held-by-children.ts';
import type { Transaction } from '../ports/transaction.ts';
import { rollUp } from './roll-up.ts';

interface UnreportedRow extends Record<string, unknown> {
  readonly id: string;
  readonly ended: boolean;
  readonly actions: number;
  readonly commands: number | null;
}

export interface HeldBudget extends HeldByChildren {
  /** The parent's counters, if something was added to them just now. */
  readonly used?: { readonly actions_used: number; readonly commands_used: number };
}

/**
 * What sub-agents that work were given of their parent's budget, under the parent's lock. What those that have ended used
 * counts for the parent from here on, whether or not it has read their reports.
 */
export async function readHeldByChildren(tx: Transaction, parentId: string): Promise<HeldBudget> {
  const children = await tx.query<UnreportedRow>(
    `SELECT id, state NOT IN ('pending', 'starting', 'running', 'paused') AS ended,
       (policy -> 'budgets' ->> 'maxActions')::int AS actions, (policy -> 'budgets' ->> 'maxCommands')::int AS commands
     FROM sessions WHERE parent_id = $1 AND reported_at IS NULL ORDER BY id`,
    [parentId],
  );
  const ended = children.filter((child) => child.ended);
  for (const { id } of ended) await rollUp(tx, parentId, id);
  const [used] =
    ended.length === 0
      ? []
      : await tx.query<{ actions_used: number; commands_used: number }>(
          'SELECT actions_used, commands_used FROM sessions WHERE id = $1',
          [parentId],
        );
  const open = children.filter((child) => !child.ended);
  return {
    childId: open[0]?.id ?? null,
    actions: open.reduce((sum, { actions }) => sum + actions, 0),
    commands: open.reduce((sum, { commands }) => sum + (commands ?? 0), 0),
    ...(used === undefined ? {} : { used }),
  };
}
