import { canAskFor } from '@lemniscate/shared/budget/extendable.ts';
import { exhaustedTime } from '@lemniscate/shared/budget/session-budget.ts';
import type { EventLog } from '../application/ports/event-log.ts';
import type { Log } from '../application/ports/log.ts';
import type { Database, Transaction } from '../application/ports/transaction.ts';
import { endSession } from '../application/sessions/end-session.ts';
import type { EndSessionDeps } from '../application/sessions/end-session.ts';
import type { Signals } from '../application/signals.ts';
import { askForExtension } from '../application/budgets/ask-extension.ts';
import type { ExtendableSession } from '../application/budgets/ask-extension.ts';
import { readWaitedMs } from '../application/budgets/read-waited.ts';

export interface StopOverdueDeps extends EndSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly log: Log;
}

/** A server that was told to stop has so long to hand in its diff before the session is ended without it. Minutes. */
const graceMinutes = 5;

interface RunningRow extends ExtendableSession, Record<string, unknown> {
  readonly stop_reason: string | null;
}

const columns = `id, attempt, state, phase, interactive, policy, stop_reason, actions_used, commands_used, waited_ms, running_at, extensions_used, bounds,
  budget_from, clock_timestamp() AS now`;

/**
 * Looks for sessions whose minutes are used up while nobody asks for anything: a command that runs on, a model that
 * does not answer. Where a person can extend, they are asked. The others are told to stop with the next answer to
 * their server; one that does not follow is ended.
 * @returns how many were asked about, stopped or ended
 */
export async function stopOverdue(deps: StopOverdueDeps): Promise<number> {
  const candidates = await deps.database.query<{ id: string }>(
    `SELECT id FROM sessions WHERE state = 'running'
       AND coalesce(budget_from, running_at) < now() - make_interval(mins =>
         least((policy -> 'budgets' ->> 'maxMinutes')::int, (bounds ->> 'maxMinutes')::int))`,
  );
  let stopped = 0;
  for (const { id } of candidates) if (await stopIfOverdue(deps, id)) stopped += 1;
  return stopped;
}

async function stopIfOverdue(deps: StopOverdueDeps, sessionId: string): Promise<boolean> {
  const outcome = await deps.database.transaction(async (tx) => {
    const session = await lockRunning(tx, sessionId);
    if (session === null) return null;
    const exhausted = exhaustedTime(session.policy.budgets, session);
    if (exhausted === null) return null;
    if (session.stop_reason === null && canAskFor(session, exhausted))
      return (await askForExtension(deps, tx, session, exhausted)) ? ('asked' as const) : null;
    const late = Date.parse(session.now) - graceMinutes * 60_000;
    if (exhaustedTime(session.policy.budgets, { ...session, now: new Date(late).toISOString() }) !== null) {
      const { reason, message } = exhausted;
      await endSession(deps, tx, { sessionId, reason, message });
      return 'ended' as const;
    }
    if (session.stop_reason !== null) return null;
    await tx.query('UPDATE sessions SET stop_reason = $2 WHERE id = $1', [sessionId, exhausted.reason]);
    return 'told' as const;
  });
  if (outcome === null) return false;
  deps.log.info({ session: sessionId, outcome }, 'a session has used up its minutes');
  if (outcome === 'told') return true;
  deps.events.announce(sessionId);
  if (outcome === 'asked') return true;
  deps.signals.send('ended', sessionId);
  deps.signals.send('slotFreed', undefined);
  return true;
}

/** The session under its lock, with the wait that is still going on counted. */
async function lockRunning(tx: Transaction, sessionId: string): Promise<RunningRow | null> {
  const [[row], waited] = await Promise.all([
    tx.query<RunningRow>(`SELECT ${columns} FROM sessions WHERE id = $1 AND state = 'running' FOR UPDATE`, [
      sessionId,
    ]),
    readWaitedMs(tx, sessionId),
  ]);
  return row === undefined ? null : { ...row, waited_ms: waited };
}
