import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { Removed } from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import type { PeopleMap } from '../ports/people-map.ts';
import type { Transaction } from '../ports/transaction.ts';
import { forgetUploadsBy } from '../uploads/forget-abandoned.ts';
import { personOwner } from '../uploads/upload-row.ts';
import { eraseWithin } from './erase-session.ts';
import type { EraseDeps } from './erase-session.ts';
import { takeHoldTurn } from './holds.ts';
import {
  eraseAccounts,
  namesOf,
  removeAddresses,
  removeNames,
  removeSaid,
  renameWithin,
  requireNothingHeld,
} from './person-traces.ts';
import { addRemoved } from './stores.ts';

export interface ErasePersonDeps extends EraseDeps {
  readonly people: PeopleMap;
}

/** Columns that say who did something: the pseudonym takes the identity's place there. */
const renamed: readonly (readonly [table: string, column: string])[] = [
  ['sessions', 'opened_by'],
  ['sessions', 'pause_requested_by'],
  ['approvals', 'subject'],
  ['approval_votes', 'subject'],
  ['diffs', 'decided_by'],
  ['diff_votes', 'subject'],
  ['budget_extensions', 'subject'],
  ['session_messages', 'subject'],
  ['session_grants', 'subject'],
  ['project_policies', 'changed_by'],
  ['project_retention', 'changed_by'],
  ['legal_holds', 'placed_by'],
  ['legal_holds', 'released_by'],
  ['revoked_users', 'revoked_by'],
  ['role_bindings', 'bound_by'],
  ['service_tokens', 'created_by'],
  ['intake_pauses', 'paused_by'],
  ['fleet_stops', 'stopped_by'],
  ['agent_servers', 'drained_by'],
  ['server_invitations', 'invited_by'],
  ['agent_versions', 'changed_by'],
  ['credentials', 'changed_by'],
  ['remote_tools', 'approved_by'],
  ['memory_carries', 'asked_by'],
  ['memory_carries', 'decided_by'],
  ['skills', 'pushed_by'],
  ['memories', 'changed_by'],
  ['memory_proposals', 'decided_by'],
  ['project_workspaces', 'changed_by'],
  ['objects', 'created_by'],
  ['objects', 'assigned_to'],
  ['object_comments', 'created_by'],
  ['object_comments', 'member_by'],
  ['object_history', 'acted_by'],
  ['object_files', 'attached_by'],
  ['deliveries', 'owner'],
  ['deliveries', 'acted_by'],
  ['deliveries', 'member_by'],
  ['triggers', 'owner'],
  ['hooks', 'owner'],
  ['account_links', 'changed_by'],
  ['notify_targets', 'changed_by'],
  ['session_origins', 'asked_by'],
  ['cost_entries', 'subject'],
  ['cost_sessions', 'subject'],
  ['cost_days', 'subject'],
];

/** Columns with people in them that have a statement of their own. */
export const otherPersonColumns = ['uploads.owner', 'agent_servers.pinned_to', 'revoked_users.subject'];
/** Every column that this erasure empties, as `table.column`; a test compares them with the schema. */
export const erasedPersonColumns = (): string[] =>
  [...renamed, ...removed].map(([table, column]) => `${table}.${column}`);

/** Rows that are of no use without the person. */
const removed: readonly (readonly [table: string, column: string])[] = [
  ['idempotency_keys', 'caller'],
  ['inbox_items', 'subject'],
  ['account_links', 'subject'],
  ['logins', 'subject'],
  ['people', 'subject'],
];

/**
 * Forgets a person: erases their sessions, puts the pseudonym in the place of the identity wherever it says who did
 * something, and erases who the pseudonym is. Every chain and proof stands.
 * @returns the pseudonym, and what was removed
 * @throws CodedError `not_found` for somebody whom the log does not know; `conflict` while one of their sessions runs,
 *   while a hold stands over one, over what they have said, or over a session that names them, while their access is revoked (erasing that would give it back), and for oneself
 */
export async function erasePerson(
  deps: ErasePersonDeps,
  by: Person,
  identity: string,
): Promise<{ readonly person: string; readonly removed: Removed }> {
  if (identity === by.subject)
    throw new CodedError('conflict', 'Nobody can erase themselves; another administrator has to.');
  const outcome = await deps.database.transaction((tx) => erase(deps, tx, by, identity));
  deps.signals.send('erased', undefined);
  return outcome;
}

async function erase(
  deps: ErasePersonDeps,
  tx: Transaction,
  by: Person,
  identity: string,
): Promise<{ person: string; removed: Removed }> {
  const [revoked] = await tx.query('SELECT FROM revoked_users WHERE subject = $1', [identity]);
  if (revoked !== undefined)
    throw new CodedError(
      'conflict',
      `The access of ${identity} is revoked, and erasing that would give it back. Remove the person from the directory, give the access back, then erase.`,
    );
  await takeHoldTurn(tx, 'removing');
  const names = await namesOf(tx, identity);
  await requireNothingHeld(tx, identity, names);
  const sessions = await tx.query<{ id: string }>(
    'SELECT id FROM sessions WHERE opened_by = $1 ORDER BY id',
    [identity],
  );
  let counts: Removed = {};
  for (const { id } of sessions)
    counts = addRemoved(counts, await eraseWithin(deps, tx, by.subject, id, 'person'));
  const pseudonym = await deps.people.erase(tx, identity);
  if (pseudonym === null)
    throw new CodedError('not_found', `The audit log knows nobody by the name ${identity}.`);
  await removeSaid(tx, identity);
  for (const [table, column] of renamed) {
    const rows = await tx.query(`UPDATE ${table} SET ${column} = $2 WHERE ${column} = $1 RETURNING 1`, [
      identity,
      pseudonym,
    ]);
    if (rows.length > 0) counts = addRemoved(counts, { [`${table}.${column}`]: rows.length });
  }
  await renameWithin(tx, identity, pseudonym);
  await removeNames(tx, names, pseudonym);
  await removeAddresses(deps, tx, by.subject, names);
  await forgetUploadsBy(tx, personOwner({ subject: identity }));
  await tx.query('UPDATE uploads SET owner = $2 WHERE owner = $1', [
    personOwner({ subject: identity }),
    pseudonym,
  ]);
  await tx.query(`DELETE FROM role_bindings WHERE kind = 'person' AND principal = $1`, [identity]);
  await tx.query('UPDATE agent_servers SET pinned_to = $2 WHERE pinned_to = $1', [identity, pseudonym]);
  for (const [table, column] of removed)
    await tx.query(`DELETE FROM ${table} WHERE ${column} = $1`, [identity]);
  // behind their links
  await eraseAccounts(tx, deps.people, pseudonym);
  await deps.audit.append(tx, fleetChain, [
    {
      type: 'person.erased',
      subject: by.subject,
      body: { person: pseudonym, sessions: sessions.length, removed: counts },
    },
  ]);
  return { person: pseudonym, removed: counts };
}
