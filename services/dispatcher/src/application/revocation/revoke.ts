import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { harmlessText } from '../events/harmless.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Log } from '../ports/log.ts';
import { endByPerson } from '../sessions/stop-session.ts';
import type { StopSessionDeps } from '../sessions/stop-session.ts';
import { changeSetting, versionOfSetting } from '../setting-version.ts';
import { takeTurns } from './revoked-users.ts';

export interface RevokeDeps extends StopSessionDeps {
  readonly log: Log;
}

/** What an administrator says about it; shown to the person whose session ended. */
export interface RevocationNote {
  readonly note?: string | undefined;
}

/**
 * Revokes one session: it ends at once as `revoked`, its work is discarded, its sandbox destroyed. An ended one stays.
 * @throws CodedError `forbidden`, `session_unknown`
 */
export async function revokeSession(
  deps: RevokeDeps,
  person: Person,
  sessionId: string,
  { note }: RevocationNote,
): Promise<void> {
  requireRole(person, null, 'revoke a session', 'administrator');
  await endRevoked(deps, person.subject, sessionId, 'session', note ?? null);
}

/**
 * Takes a person's access away: every later request of theirs is refused, their workstations leave, and all their
 * sessions end as `revoked`. Repeating it goes on where an interrupted one broke off.
 * @returns how many sessions this call ended
 * @throws CodedError `forbidden`; `request_invalid` for oneself, which nobody could take back
 */
export async function revokeUser(
  deps: RevokeDeps,
  person: Person,
  subject: string,
  { note }: RevocationNote,
): Promise<number> {
  requireRole(person, null, 'revoke a person’s access', 'administrator');
  if (subject === person.subject)
    throw new CodedError('request_invalid', 'Nobody can revoke themselves; another administrator has to.');
  await deps.database.transaction(async (tx) => {
    await takeTurns(tx, [subject], 'revoking');
    const added = await tx.query(
      `INSERT INTO revoked_users (subject, revoked_by, note) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING RETURNING subject`,
      [subject, person.subject, note === undefined ? null : harmlessText(note)],
    );
    if (added.length === 0) return;
    await tx.query('DELETE FROM agent_servers WHERE pinned_to = $1', [subject]);
    await deps.audit.append(tx, fleetChain, [
      { type: 'user.revoked', subject: person.subject, body: { user: subject } },
    ]);
  });
  deps.signals.send('userRevoked', undefined);
  return (await endSessionsOfRevoked(deps, null)).ended;
}

/**
 * Gives a person's access back, unless somebody has taken it away anew since the caller looked. What was ended stays ended.
 * @param seen the version of the revocation that the caller saw
 * @returns whether it had been taken away
 * @throws CodedError `forbidden`, `version_conflict`
 */
export async function restoreUser(
  deps: RevokeDeps,
  person: Person,
  subject: string,
  seen: number,
): Promise<boolean> {
  requireRole(person, null, 'give a person’s access back', 'administrator');
  return deps.database.transaction(async (tx) => {
    await takeTurns(tx, [subject], 'revoking');
    const setting = { table: 'revoked_users', key: [subject], what: `revocation of ${subject}` } as const;
    if ((await versionOfSetting(tx, setting)) === 0) return false;
    await changeSetting(tx, setting, seen, async () => {
      await tx.query('DELETE FROM revoked_users WHERE subject = $1', [subject]);
    });
    await deps.audit.append(tx, fleetChain, [
      { type: 'user.restored', subject: person.subject, body: { user: subject } },
    ]);
    return true;
  });
}

/** Sessions that are ended at the same time: each takes a database connection. */
const atOnce = 8;

/** Most sessions that one look ends. */
const perLook = 1_000;

/**
 * Ends every session that somebody revoked still has; also run by a timer, for a dispatcher may die half-way.
 * @param since looks only at who was revoked later; null: at everybody
 * @returns how many it has found, and how many of them it has ended itself
 */
export async function endSessionsOfRevoked(
  deps: RevokeDeps,
  since: string | null,
): Promise<{ readonly found: number; readonly ended: number }> {
  // Led by who was revoked: as a join it was planned as a look at all that live, for nobody.
  const rows = await deps.database.query<{ id: string; revoked_by: string; note: string | null }>(
    `SELECT s.id, r.revoked_by, r.note FROM revoked_users r CROSS JOIN LATERAL (
       SELECT id FROM sessions WHERE opened_by = r.subject AND state IN ('pending', 'starting', 'running', 'paused')
       LIMIT ${perLook}
     ) s WHERE r.revoked_at > coalesce($1, '-infinity'::timestamptz) LIMIT ${perLook}`,
    [since],
  );
  let ended = 0;
  for (let from = 0; from < rows.length; from += atOnce) {
    const outcomes = await Promise.all(
      rows
        .slice(from, from + atOnce)
        .map(({ id, revoked_by, note }) => endRevoked(deps, revoked_by, id, 'user', note)),
    );
    ended += outcomes.filter(Boolean).length;
  }
  return { found: rows.length, ended };
}

async function endRevoked(
  deps: RevokeDeps,
  subject: string,
  sessionId: string,
  scope: 'session' | 'user',
  note: string | null,
): Promise<boolean> {
  const said = note === null ? '' : ` ${harmlessText(note)}`;
  const ended = await endByPerson(deps, subject, sessionId, {
    reason: 'revoked',
    entry: { type: 'session.revoked', body: { scope } },
    message: `Revoked by an administrator.${said} Its work was discarded.`,
  }).catch((error: unknown) => {
    // It ended by itself between the look and the lock: what was wanted is the case.
    if (isCodedError(error, 'session_ended')) return false;
    throw error;
  });
  if (ended) deps.log.info({ session: sessionId, by: subject, scope }, 'a session was revoked');
  return ended;
}
