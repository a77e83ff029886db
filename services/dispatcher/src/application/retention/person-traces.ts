import { readCanonical } from '@lemniscate/shared/audit/canonical.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { record } from '../notify/targets.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { PeopleMap } from '../ports/people-map.ts';
import type { Transaction } from '../ports/transaction.ts';
import { isCommentHeld, isHeld } from './holds.ts';
import { emptyNotices } from './stores.ts';

/** Places inside of JSON that say who did something or for whom it is: the pseudonym takes the identity's place there. */
const renamedWithin: readonly (readonly [table: string, column: string, path: string])[] = [
  ['object_history', 'detail', '{assignee,id}'],
  ['notices', 'payload', '{data,by}'],
  ['notices', 'payload', '{data,openedBy}'],
];

/** JSON columns with people in them that an erasure reaches, as `table.column`; a test compares them with the schema. */
export const erasedPersonJson = (): string[] => [
  ...renamedWithin.map(([table, column]) => `${table}.${column}`),
  'notify_targets.definition',
  'session_events.event',
  'people.groups',
];

export async function renameWithin(tx: Transaction, identity: string, pseudonym: string): Promise<void> {
  for (const [table, column, path] of renamedWithin)
    await tx.query(
      `UPDATE ${table} SET ${column} = jsonb_set(${column}, $3::text[], to_jsonb($2::text)) WHERE ${column} #>> $3::text[] = $1`,
      [identity, pseudonym, path],
    );
}

/** A name as it stands in the text of JSON. */
const escaped = (name: string): string => JSON.stringify(name).slice(1, -1);

/** SQL: whether the comment `c` is the person's. */
const isTheirs = `(c.member_by = $1 OR (c.actor_kind = 'person' AND c.created_by = $1))`;

/**
 * Nothing of a person is rewritten below a legal hold, and half an erasure would be none: it waits for the hold's end.
 * @throws CodedError `conflict`
 */
export async function requireNothingHeld(tx: Transaction, identity: string, { words }: Names): Promise<void> {
  const [comment] = await tx.query<{ object_id: string }>(
    `SELECT c.object_id FROM object_comments c WHERE ${isTheirs} AND ${isCommentHeld} LIMIT 1`,
    [identity],
  );
  if (comment !== undefined)
    throw new CodedError(
      'conflict',
      `A legal hold stands over what ${identity} has said about object ${comment.object_id}. Nothing was erased.`,
      { object: comment.object_id },
    );
  const [session] = await tx.query<{ id: string }>(
    `SELECT s.id FROM sessions s WHERE ${isHeld} AND (
       EXISTS (SELECT FROM unnest($1::text[]) AS name WHERE position(name IN s.message) > 0)
       OR EXISTS (SELECT FROM session_events e, unnest($2::text[]) AS name
         WHERE e.session_id = s.id AND e.type = 'state' AND position(name IN e.event::text) > 0)) LIMIT 1`,
    [words, words.map(escaped)],
  );
  if (session !== undefined)
    throw new CodedError(
      'conflict',
      `A legal hold stands over session ${session.id}, which names ${identity}. Nothing was erased.`,
      { session: session.id },
    );
}

/** What the person has said about objects, there and in what targets were told of it; that something was said stays. */
export async function removeSaid(tx: Transaction, identity: string): Promise<void> {
  await emptyNotices(
    tx,
    `payload -> 'data' ->> 'comment' IN (SELECT c.id FROM object_comments c WHERE ${isTheirs})`,
    identity,
  );
  await tx.query(`UPDATE object_comments c SET body = '(erased)' WHERE ${isTheirs}`, [identity]);
}

/** Sentences for people name whoever stopped a session; of a name too short to be told from a word nothing is touched. */
const shortestName = 4;

/** What the directory calls the person, to search sentences for. */
export interface Names {
  readonly words: readonly string[];
  /** In small letters. */
  readonly addresses: readonly string[];
}

/** Before the person's row goes. */
export async function namesOf(tx: Transaction, identity: string): Promise<Names> {
  const [person] = await tx.query<{ name: string; email: string | null }>(
    'SELECT name, email FROM people WHERE subject = $1',
    [identity],
  );
  const words = [identity, person?.name, person?.email].filter(
    (name): name is string => typeof name === 'string' && name.length >= shortestName,
  );
  const addresses = [identity, person?.email ?? ''].filter((name) => name.includes('@'));
  return { words: [...new Set(words)], addresses: addresses.map((address) => address.toLowerCase()) };
}

/** Sentences of ours that may name somebody, and notes of administrators. */
const sentences: readonly (readonly [table: string, column: string])[] = [
  ['sessions', 'message'],
  ['inbox_items', 'title'],
  ['deliveries', 'message'],
  ['environments', 'message'],
  ['agent_servers', 'last_failure'],
  ['agent_servers', 'probe_failure'],
  ['fleet_stops', 'note'],
  ['intake_pauses', 'note'],
  ['revoked_users', 'note'],
];

export async function removeNames(tx: Transaction, { words }: Names, pseudonym: string): Promise<void> {
  for (const name of words) {
    for (const [table, column] of sentences)
      await tx.query(
        `UPDATE ${table} SET ${column} = replace(${column}, $1, $2) WHERE position($1 IN ${column}) > 0`,
        [name, pseudonym],
      );
    await tx.query(
      `UPDATE session_events SET event = replace(event::text, $1, $2)::jsonb
       WHERE type = 'state' AND position($1 IN event::text) > 0`,
      [escaped(name), pseudonym],
    );
  }
}

interface MailTarget extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly addresses: readonly string[];
}

/** The person is told nothing any more; a target that told nobody else goes. Each is an entry like a change by hand. */
export async function removeAddresses(
  deps: { readonly audit: AuditLog },
  tx: Transaction,
  by: string,
  { addresses }: Names,
): Promise<void> {
  if (addresses.length === 0) return;
  const targets = await tx.query<MailTarget>(
    `SELECT id, project_id, definition #> '{place,addresses}' AS addresses FROM notify_targets
     WHERE EXISTS (SELECT FROM jsonb_array_elements_text(definition #> '{place,addresses}') AS a WHERE lower(a) = ANY ($1))
     ORDER BY id FOR UPDATE`,
    [addresses],
  );
  for (const { id, project_id: project, addresses: all } of targets) {
    const others = all.filter((address) => !addresses.includes(address.toLowerCase()));
    if (others.length === 0) {
      await tx.query('DELETE FROM notify_targets WHERE id = $1', [id]);
      await record(deps, tx, project, { type: 'target.removed', subject: by, body: { target: id, project } });
      continue;
    }
    const [row] = await tx.query<{ version: number; enabled: boolean }>(
      `UPDATE notify_targets SET definition = jsonb_set(definition, '{place,addresses}', $2), version = version + 1
       WHERE id = $1 RETURNING version, enabled`,
      [id, JSON.stringify(others)],
    );
    const body = {
      target: id,
      project,
      kind: 'email',
      version: row?.version ?? 0,
      enabled: row?.enabled ?? false,
    };
    await record(deps, tx, project, { type: 'target.changed', subject: by, body });
  }
}

/**
 * Who the accounts of other systems were that the log has linked to the person, whether or not they still are. One that
 * is somebody else's now stays.
 */
export async function eraseAccounts(tx: Transaction, people: PeopleMap, pseudonym: string): Promise<void> {
  const linked = await tx.query<{ body: Uint8Array }>(
    `SELECT body FROM audit_entries WHERE type = 'account.linked' AND position($1::bytea IN body) > 0`,
    [Buffer.from(pseudonym)],
  );
  const accounts = linked.flatMap(({ body }) => {
    const value = readCanonical(body)?.value as { body?: { account?: unknown } } | null | undefined;
    const account = value?.body?.account;
    return typeof account === 'string' ? [account] : [];
  });
  const names = [...(await people.identities(tx, [...new Set(accounts)])).values()];
  const others = await tx.query<{ name: string }>(
    `SELECT source || ':' || account AS name FROM account_links WHERE source || ':' || account = ANY ($1)`,
    [names.filter((name) => name !== null)],
  );
  const standing = new Set(others.map(({ name }) => name));
  for (const name of names) if (name !== null && !standing.has(name)) await people.erase(tx, name);
}
