import type { EventLog } from '../ports/event-log.ts';
import type { Database } from '../ports/transaction.ts';
import type { AskedEvent } from '../permits/record-permit.ts';
import { lockSession } from '../sessions/session-row.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';

/** A question of a sub-agent, and the session that its person looks at. */
export interface AskedBelow {
  readonly root: string;
  readonly sessionId: string;
  readonly asked: AskedEvent;
}

/**
 * Shows a sub-agent's question where its person looks. After the commit and in a transaction of its own: locks go from
 * the parent to the child, never back. If it is lost, the waiting list has the question all the same.
 */
export async function showAbove(
  deps: { readonly database: Database; readonly events: EventLog },
  { root, sessionId, asked }: AskedBelow,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, root);
    if (sessionHasEnded(session.state)) return;
    await deps.events.append(tx, root, session.attempt, [{ ...asked, sessionId }]);
  });
  deps.events.announce(root);
}
