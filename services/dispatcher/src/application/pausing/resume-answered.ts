import type { EventLog } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import type { Database } from '../ports/transaction.ts';
import { fleetAgo } from '../recovery/fleet-clock.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import type { PutAwayDeps } from './put-away.ts';
import { queueResumed } from './queue-resumed.ts';
import { findWait, waitsOfSession } from './waits.ts';

export interface ResumeAnsweredDeps extends PutAwayDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly log: Log;
  /** A session that a person has paused comes to its end after so long. Seconds. */
  readonly maxPauseSeconds: number;
}

/** How many are looked at in one run; the next takes the rest. */
const atOnce = 200;

/**
 * Lets paused sessions queue again that wait for nothing any more, whoever answered them, in whichever dispatcher and
 * at whatever moment. Those that a person forgot are told to come to their end: they go on only to hand in their diff.
 * @returns how many were queued
 */
export async function resumeAnswered(deps: ResumeAnsweredDeps): Promise<number> {
  const answered = await deps.database.query<{ id: string }>(
    `SELECT s.id FROM sessions s WHERE s.state = 'paused' AND s.reason IS DISTINCT FROM 'by_person'
       AND NOT EXISTS (SELECT FROM ${waitsOfSession} w WHERE w.since IS NOT NULL) ORDER BY s.id LIMIT ${atOnce}`,
  );
  const forgotten = await deps.database.query<{ id: string }>(
    `SELECT s.id FROM sessions s JOIN session_pauses p ON p.session_id = s.id AND p.until IS NULL
     WHERE s.state = 'paused' AND s.reason = 'by_person' AND p.since < ${fleetAgo('make_interval(secs => $1)')}
     ORDER BY s.id LIMIT ${atOnce}`,
    [deps.maxPauseSeconds],
  );
  let queued = 0;
  for (const { id } of answered) queued += (await queue(deps, id, 'answered')) ? 1 : 0;
  for (const { id } of forgotten) queued += (await queue(deps, id, 'forgotten')) ? 1 : 0;
  if (queued > 0) deps.signals.send('outbox', null);
  return queued;
}

async function queue(
  deps: ResumeAnsweredDeps,
  sessionId: string,
  why: 'answered' | 'forgotten',
): Promise<boolean> {
  const queued = await deps.database.transaction(async (tx) => {
    // Looked at again under the lock: somebody may have resumed, stopped or paused it since.
    const session = await lockSession(tx, sessionId);
    const byPerson = session.reason === 'by_person';
    if (session.state !== 'paused' || byPerson !== (why === 'forgotten')) return false;
    if (why === 'answered' && (await findWait(tx, sessionId)) !== null) return false;
    if (why === 'forgotten')
      await tx.query(`UPDATE sessions SET stop_reason = coalesce(stop_reason, 'time_budget') WHERE id = $1`, [
        sessionId,
      ]);
    await queueResumed(deps, tx, session, deps.self);
    return true;
  });
  if (!queued) return false;
  deps.log.info({ session: sessionId, why }, 'a paused session goes on');
  deps.events.announce(sessionId);
  return true;
}
