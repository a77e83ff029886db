import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { allowance, workedMinutes } from '@lemniscate/shared/budget/session-budget.ts';
import type { BudgetUse, ExhaustedBudget } from '@lemniscate/shared/budget/session-budget.ts';
import { extendableCauses } from '@lemniscate/shared/api/extension.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { SessionPhase, SessionState } from '@lemniscate/shared/session/state.ts';
import { extensionGrant } from '@lemniscate/shared/session/allowance.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { extensionColumns, extensionEvent, findWaitingExtension } from './extension-row.ts';
import type { ExtensionRow } from './extension-row.ts';

export interface AskExtensionDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  readonly self: string;
}

/** What is asked about: a session that runs, under its lock. */
export interface ExtendableSession extends BudgetUse {
  readonly id: string;
  readonly attempt: number;
  readonly state: SessionState;
  readonly phase: SessionPhase;
  readonly policy: Policy;
  readonly interactive: boolean;
}

/**
 * Asks the person for an extension, unless the question waits already. Under the session's lock.
 * @returns whether it was asked just now
 */
export async function askForExtension(
  deps: AskExtensionDeps,
  tx: Transaction,
  session: ExtendableSession,
  exhausted: ExhaustedBudget,
): Promise<boolean> {
  const cause = extendableCauses.find((known) => known === exhausted.reason);
  if (cause === undefined) throw new Error(`no extension helps against ${exhausted.reason}`);
  if ((await findWaitingExtension(tx, session.id)) !== null) return false;
  const { extensionsLeft } = allowance(session.policy.budgets, session);
  const used = { actions: session.actions_used, minutes: Math.round(workedMinutes(session) * 10) / 10 };
  const [row] = await tx.query<ExtensionRow>(
    `INSERT INTO budget_extensions (session_id, number, cause, state, used, grants, expires_at)
     SELECT $1, coalesce(max(number), 0) + 1, $2, 'waiting', $3, $4, now() + make_interval(secs => $5)
     FROM budget_extensions WHERE session_id = $1 RETURNING ${extensionColumns}`,
    [
      session.id,
      cause,
      JSON.stringify(used),
      JSON.stringify({ ...extensionGrant, left: extensionsLeft - 1 }),
      session.policy.approvalTtlSeconds,
    ],
  );
  if (row === undefined) throw new Error('an insert always has its row');
  await Promise.all([
    tx.query(`UPDATE sessions SET phase = $2, reason = 'awaiting_extension' WHERE id = $1`, [
      session.id,
      session.state === 'running' ? 'waiting' : session.phase,
    ]),
    deps.events.append(tx, session.id, session.attempt, [extensionEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'budget.exhausted',
        subject: deps.self,
        attempt: session.attempt,
        body: { number: row.number, cause, ...used },
      },
    ]),
  ]);
  return true;
}
