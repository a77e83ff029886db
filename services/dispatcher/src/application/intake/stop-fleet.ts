import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { harmlessText } from '../events/harmless.ts';
import type { Person } from '../identity.ts';
import type { Log } from '../ports/log.ts';
import { endByPerson } from '../sessions/stop-session.ts';
import type { StopSessionDeps } from '../sessions/stop-session.ts';
import { writePause } from './pause-intake.ts';

export interface StopFleetDeps extends StopSessionDeps {
  readonly log: Log;
}

/** Sessions that are ended at the same time: each takes a database connection. */
const atOnce = 8;
const perLook = 500;

/**
 * The kill switch. Intake of the whole fleet is paused first and for good, so that nothing new starts, then every
 * session that has not ended ends as `revoked`. The watch of the stopped fleet goes on where a dispatcher that died
 * broke off.
 * @returns how many sessions had not ended before
 * @throws CodedError `request_invalid` unless it is confirmed
 */
export async function stopFleet(
  deps: StopFleetDeps,
  person: Person,
  order: { readonly confirm: string; readonly note?: string | undefined },
): Promise<number> {
  if (order.confirm !== 'stop everything')
    throw new CodedError(
      'request_invalid',
      'This ends every session of the fleet and discards its work. Confirm with "stop everything".',
    );
  const note = order.note === undefined ? null : harmlessText(order.note);
  const sessions = await deps.database.transaction(async (tx) => {
    const [live] = await tx.query<{ sessions: number }>(
      `SELECT count(*)::int AS sessions FROM sessions WHERE state IN ('pending', 'starting', 'running', 'paused')`,
    );
    await writePause(deps, tx, person.subject, 'fleet', note);
    await tx.query('INSERT INTO fleet_stops (stopped_by, note) VALUES ($1, $2)', [person.subject, note]);
    await deps.audit.append(tx, fleetChain, [
      { type: 'fleet.stopped', subject: person.subject, body: { sessions: live?.sessions ?? 0 } },
    ]);
    return live?.sessions ?? 0;
  });
  deps.log.warn({ by: person.subject }, 'the whole fleet is being stopped');
  await endStopped(deps);
  return sessions;
}

/** What began before a stop has committed or failed after so long. */
const settledMinutes = 10;

/**
 * Goes on with a stop of the fleet that broke off, by a timer. One that left nothing long after it was given is not looked
 * at again: the look goes through all that live.
 */
export function createStoppedFleetWatch(deps: StopFleetDeps): () => Promise<void> {
  let settled: number | null = null;
  return async () => {
    const [stop] = await deps.database.query<{ id: number; old: boolean }>(
      `SELECT id, stopped_at < now() - interval '${settledMinutes} minutes' AS old
       FROM fleet_stops ORDER BY stopped_at DESC LIMIT 1`,
    );
    if (stop === undefined || stop.id === settled) return;
    const ended = await endStopped(deps);
    if (stop.old && ended === 0) settled = stop.id;
  };
}

/**
 * Ends every session that was opened before the last stop of the fleet.
 * @returns how many
 */
async function endStopped(deps: StopFleetDeps): Promise<number> {
  let ended = 0;
  for (;;) {
    const rows = await deps.database.query<{ id: string; stopped_by: string; note: string | null }>(
      `SELECT sessions.id, stop.stopped_by, stop.note
       FROM (SELECT * FROM fleet_stops ORDER BY stopped_at DESC LIMIT 1) stop
       JOIN sessions ON sessions.created_at <= stop.stopped_at
       WHERE sessions.state IN ('pending', 'starting', 'running', 'paused') ORDER BY sessions.id LIMIT ${perLook}`,
    );
    for (let from = 0; from < rows.length; from += atOnce)
      await Promise.all(
        rows.slice(from, from + atOnce).map(async ({ id, stopped_by: by, note }) => {
          if (await endOne(deps, id, by, note)) ended += 1;
        }),
      );
    if (rows.length < perLook) return ended;
  }
}

async function endOne(deps: StopFleetDeps, id: string, by: string, note: string | null): Promise<boolean> {
  return endByPerson(deps, by, id, {
    reason: 'revoked',
    entry: { type: 'session.revoked', body: { scope: 'fleet' } },
    message: `The whole fleet was stopped by an administrator.${note === null ? '' : ` ${note}`} Its work was discarded.`,
  }).catch((error: unknown) => {
    // It ended by itself between the look and the lock: what was wanted is the case.
    if (isCodedError(error, 'session_ended')) return false;
    throw error;
  });
}
