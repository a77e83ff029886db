import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { Transaction } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { PutAwayDeps } from './put-away.ts';

/** Lets a paused session queue again, under its lock; it goes on from its last checkpoint, on any server. */
export async function queueResumed(
  deps: PutAwayDeps,
  tx: Transaction,
  session: SessionRow,
  subject: string,
): Promise<void> {
  const generation = session.generation + 1;
  await changeSessionState(deps.events, tx, session, {
    to: 'pending',
    phase: 'queued',
    set: { generation },
    stamp: 'queued_at',
  });
  await Promise.all([
    tx.query('INSERT INTO outbox (session_id, generation) VALUES ($1, $2)', [session.id, generation]),
    deps.audit.append(tx, sessionChain(session.id), [
      { type: 'session.resumed', subject, body: { generation, pausedFor: session.reason ?? 'answered' } },
    ]),
  ]);
}
