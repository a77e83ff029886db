import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { accountIdentity } from '@lemniscate/shared/audit/person.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { FindPerson } from '../access/known-person.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Actor } from '../objects/actor.ts';
import type { Barred } from '../objects/tell-agents.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { changeSetting, versionOfSetting } from '../setting-version.ts';
import type { Setting } from '../setting-version.ts';

export interface LinkDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly findPerson: FindPerson;
}

interface Link {
  readonly source: string;
  readonly account: string;
  readonly subject: string;
}

// Names of accounts are compared as the systems compare them: without regard to case.
const folded = (account: string): string => account.toLowerCase();

const settingOf = ({ source, account }: Omit<Link, 'subject'>): Setting => ({
  table: 'account_links',
  key: [source, folded(account)],
  what: `link of the ${source} account ${account}`,
});

/**
 * Says which person an account of another system is. Nobody but an administrator says so: whoever links an account to a
 * person gives whoever holds it what that person may start.
 * @param seen the version of the link that the caller saw; 0: there was none
 * @returns the version after it
 * @throws CodedError `not_found` for somebody whom the fleet does not know, `version_conflict`
 */
export async function linkAccount(deps: LinkDeps, by: Person, link: Link, seen: number): Promise<number> {
  return deps.database.transaction(async (tx) => {
    const person = await deps.findPerson(tx, link.subject);
    // a token's scopes are what tells it from a person
    if (person === null || person.scopes !== undefined)
      throw new CodedError(
        'not_found',
        `Nobody is known as ${link.subject} here. People are known once they have logged in.`,
      );
    const version = await changeSetting(tx, settingOf(link), seen, async () => {
      await tx.query(
        `INSERT INTO account_links (source, account, subject, changed_by) VALUES ($1, $2, $3, $4)
         ON CONFLICT (source, account) DO UPDATE SET subject = $3, changed_by = $4, changed_at = now()`,
        [link.source, folded(link.account), link.subject, by.subject],
      );
    });
    await deps.audit.append(tx, fleetChain, [
      {
        type: 'account.linked',
        subject: by.subject,
        body: {
          source: link.source,
          account: accountIdentity(link.source, folded(link.account)),
          user: link.subject,
        },
      },
    ]);
    return version;
  });
}

/** @throws CodedError `not_found`, `version_conflict` */
export async function unlinkAccount(
  deps: LinkDeps,
  person: Person,
  link: Omit<Link, 'subject'>,
  seen: number,
): Promise<void> {
  const { source, account } = link;
  await deps.database.transaction(async (tx) => {
    if ((await versionOfSetting(tx, settingOf(link))) === 0)
      throw new CodedError('not_found', `The ${source} account ${account} is linked to nobody.`);
    await changeSetting(tx, settingOf(link), seen, async () => {
      await tx.query('DELETE FROM account_links WHERE source = $1 AND account = $2', [
        source,
        folded(account),
      ]);
    });
    await deps.audit.append(tx, fleetChain, [
      {
        type: 'account.unlinked',
        subject: person.subject,
        body: { source, account: accountIdentity(source, folded(account)) },
      },
    ]);
  });
}

/** Every link, by system. */
export async function listLinks(
  tx: Transaction,
): Promise<(Link & { changedBy: string; changedAt: string; version: number })[]> {
  const rows = await tx.query<
    Link & { changed_by: string; changed_at: string; version: number } & Record<string, unknown>
  >(
    'SELECT source, account, subject, changed_by, changed_at, version FROM account_links ORDER BY source, account LIMIT 5000',
  );
  return rows.map(({ source, account, subject, changed_by, changed_at, version }) => ({
    source,
    account,
    subject,
    changedBy: changed_by,
    changedAt: changed_at,
    version,
  }));
}

/** Who an account of another system is here, and why it may start nothing; null: it may. */
export async function actorOfAccount(
  { findPerson }: Pick<LinkDeps, 'findPerson'>,
  tx: Transaction,
  project: string,
  source: string,
  account: string,
): Promise<{ actor: Actor; barred: Barred | null }> {
  const id = `${source}:${account}`;
  const [link] = await tx.query<{ subject: string; revoked: boolean }>(
    `SELECT subject, EXISTS (SELECT FROM revoked_users r WHERE r.subject = l.subject) AS revoked
     FROM account_links l WHERE source = $1 AND account = $2`,
    [source, folded(account)],
  );
  const stranger: Actor = { kind: 'external', id, member: null };
  if (link === undefined)
    return {
      actor: stranger,
      barred: {
        reason: 'actor_unknown',
        message: `The account ${id} is linked to nobody. An administrator links it with PUT /v1/account-links.`,
      },
    };
  const person = link.revoked ? null : await findPerson(tx, link.subject);
  if (person === null || !hasRole(person, project, 'member', 'project_admin', 'administrator'))
    return {
      actor: stranger,
      barred: {
        reason: 'actor_not_member',
        message: `The account ${id} belongs to ${link.subject}, who may not start sessions in project "${project}".`,
      },
    };
  return { actor: { kind: 'external', id, member: person.subject }, barred: null };
}
