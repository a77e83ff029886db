import canonicalize from 'canonicalize';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { placeOfBuild } from './place-of-build.ts';
import { loadProjectPolicy } from '../projects/project.ts';
import { objectKey } from '../ports/object-store.ts';
import type { EventLog } from '../ports/event-log.ts';
import { lookInOrder } from '../ordered-look.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { fleetAgo } from '../recovery/fleet-clock.ts';
import { endSession } from '../sessions/end-session.ts';
import type { Signals } from '../signals.ts';
import { beginBuild } from './begin-build.ts';
import type { BeginBuildDeps } from './begin-build.ts';
import { environmentColumns, takeEnvironmentTurn } from './environment-row.ts';
import type { EnvironmentRow } from './environment-row.ts';

export interface WatchEnvironmentsDeps extends BeginBuildDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
}

const perTick = 200;
/** An environment that no session has used for so long is let go, and the schedule no longer renews it. */
const unusedDays = 30;

/** Lets sessions go on whose wait is over, renews what the policies want renewed, and forgets what nobody uses. */
export async function watchEnvironments(deps: WatchEnvironmentsDeps): Promise<void> {
  await letGoOn(deps);
  await endOverdue(deps);
  await renew(deps);
  await expire(deps.database);
}

/** What a build's own end does, once more: for ends that nobody was there to see. */
async function letGoOn({ database, signals }: WatchEnvironmentsDeps): Promise<void> {
  const due = await lookInOrder<{ id: string }>(
    database,
    `SELECT s.id FROM sessions s WHERE s.waits_for_environment IS NOT NULL AND s.state = 'pending'
       AND NOT EXISTS (SELECT FROM environments e WHERE e.project_id = s.project_id
         AND e.key = s.waits_for_environment AND e.state = 'building')
       AND (s.policy -> 'environment' ->> 'onMissing' <> 'wait' OR EXISTS (
         SELECT FROM environments e WHERE e.project_id = s.project_id AND e.key = s.waits_for_environment
           AND e.ended_at > s.queued_at))
     ORDER BY s.project_id, s.waits_for_environment LIMIT ${perTick}`,
  );
  if (due.length === 0) return;
  const released = await database.query(
    `WITH released AS (
       UPDATE sessions SET waits_for_environment = NULL, generation = generation + 1, version = version + 1
       WHERE id = ANY ($1) AND waits_for_environment IS NOT NULL AND state = 'pending'
       RETURNING id, generation
     ) INSERT INTO outbox (session_id, generation) SELECT id, generation FROM released RETURNING id`,
    [due.map(({ id }) => id)],
  );
  if (released.length > 0) signals.send('outbox', null);
}

async function endOverdue(deps: WatchEnvironmentsDeps): Promise<void> {
  const overdue = `waits_for_environment IS NOT NULL AND state = 'pending'
    AND queued_at < ${fleetAgo(`(policy -> 'environment' ->> 'waitMinutes')::int * interval '1 minute'`)}`;
  const due = await lookInOrder<{ id: string }>(
    deps.database,
    `SELECT id FROM sessions WHERE ${overdue} ORDER BY project_id, waits_for_environment LIMIT ${perTick}`,
  );
  for (const { id } of due) {
    const ended = await deps.database
      .transaction(async (tx) => {
        const [still] = await tx.query<{ minutes: string }>(
          `SELECT policy -> 'environment' ->> 'waitMinutes' AS minutes FROM sessions WHERE id = $1 AND ${overdue}
           FOR UPDATE`,
          [id],
        );
        if (still === undefined) return false;
        await endSession(deps, tx, {
          sessionId: id,
          reason: 'environment_failed',
          message: `Its environment was not there within ${still.minutes} minutes (environment.waitMinutes). Build it with "lemniscate environments build", or let the policy say onMissing: build.`,
        });
        return true;
      })
      .catch((error: unknown) => {
        if (isCodedError(error, 'session_ended')) return false;
        throw error;
      });
    if (!ended) continue;
    deps.events.announce(id);
    deps.signals.send('ended', id);
  }
}

/** Environments whose time has come, as long as their project still wants them so and uses them. */
async function renew(deps: WatchEnvironmentsDeps): Promise<void> {
  const due = await deps.database.query<EnvironmentRow>(
    `SELECT ${environmentColumns} FROM environments e
     WHERE e.state = 'ready' AND (e.definition ->> 'rebuildEveryHours') IS NOT NULL
       AND e.ended_at < now() - (e.definition ->> 'rebuildEveryHours')::int * interval '1 hour'
       AND coalesce(e.used_at, e.ended_at) > now() - interval '${unusedDays} days'
       AND NOT EXISTS (SELECT FROM environments n WHERE n.project_id = e.project_id AND n.key = e.key
         AND n.started_at > e.started_at AND (n.state <> 'failed' OR n.ended_at > now() - interval '1 hour'))
     ORDER BY e.ended_at LIMIT 10`,
  );
  let begun = 0;
  for (const row of due) begun += (await renewOne(deps, row)) ? 1 : 0;
  if (begun > 0) deps.signals.send('outbox', null);
}

async function renewOne(deps: WatchEnvironmentsDeps, row: EnvironmentRow): Promise<boolean> {
  const { key } = row;
  if (key === null) return false;
  return deps.database.transaction(async (tx) => {
    await takeEnvironmentTurn(tx, row.project_id, key);
    const [later] = await tx.query(
      `SELECT FROM environments WHERE project_id = $1 AND key = $2
         AND started_at > (SELECT started_at FROM environments WHERE id = $3)
         AND (state <> 'failed' OR ended_at > now() - interval '1 hour')`,
      [row.project_id, key, row.id],
    );
    const terms = await loadProjectPolicy(tx, row.project_id);
    const { environment } = terms.policy;
    // another text is another key, which the first session that needs it has built
    if (later !== undefined || environment === undefined || !isSame(environment, row.definition))
      return false;
    await beginBuild(deps, tx, {
      project: row.project_id,
      key,
      cause: 'schedule',
      repository: row.repository,
      policy: terms.policy,
      environment,
      ...placeOfBuild(terms),
      subject: deps.self,
    });
    return true;
  });
}

function isSame(one: EnvironmentRow['definition'], other: EnvironmentRow['definition']): boolean {
  const made = ({ prepare, lockfiles, variables }: EnvironmentRow['definition']) =>
    canonicalize({ prepare, lockfiles, variables });
  return made(one) === made(other);
}

/** One that a newer build has replaced is kept for an hour more: sessions are told addresses of it. */
async function expire(database: Database): Promise<void> {
  await database.transaction(async (tx: Transaction) => {
    const rows = await tx.query<{ project_id: string; session_id: string; sha256: string }>(
      `UPDATE environments SET state = 'expired' WHERE id IN (
         SELECT e.id FROM environments e WHERE e.state = 'ready'
           AND (coalesce(e.used_at, e.ended_at) < now() - interval '${unusedDays} days'
             OR EXISTS (SELECT FROM environments n WHERE n.project_id = e.project_id AND n.key = e.key
               AND n.state = 'ready' AND n.started_at > e.started_at AND n.ended_at < now() - interval '1 hour'))
         LIMIT 50)
       RETURNING project_id, session_id, archive_sha256 AS sha256`,
    );
    for (const { project_id: project, session_id: session, sha256 } of rows)
      await tx.query(
        `DELETE FROM uploads WHERE project_id = $1 AND sha256 = $2 AND starts_with(owner, 'attempt:' || $3 || '/')`,
        [project, sha256, session],
      );
    if (rows.length > 0)
      await tx.query('INSERT INTO object_removals (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
        rows.map(({ project_id, sha256 }) => objectKey(project_id, sha256)),
      ]);
  });
}
