import type { CreateToken, TokenView } from '@lemniscate/shared/api/identity.ts';
import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { everyProject, isProjectRole } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import type { Scope } from '@lemniscate/shared/identity/scopes.ts';
import { hasRole, projectsWith } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { requireProject, sortGrants } from './role-bindings.ts';
import { tokenHash } from './token-hash.ts';

/** What every service token begins with, so that scanners of leaked secrets know it. */
export const serviceTokenPrefix = 'lms_';

export interface TokenDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
  /** 256 random bits as text. */
  readonly newSecret: () => string;
}

interface TokenRow extends Record<string, unknown> {
  readonly id: string;
  readonly name: string;
  readonly project_id: string;
  readonly roles: Role[];
  readonly scopes: Scope[];
  readonly created_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly used_at: string | null;
}

const columns =
  'id, name, project_id, roles, scopes, created_by, created_at, expires_at, revoked_at, used_at';

function toView(row: TokenRow): TokenView {
  return {
    id: row.id,
    name: row.name,
    project: row.project_id,
    roles: row.roles,
    scopes: row.scopes,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    usedAt: row.used_at,
  };
}

/**
 * Makes a token for a program. It can never do more than whoever makes it: neither in a role nor in a project. Only a
 * person's login makes one: what a token made would go on after the token, and after the access of its person.
 * @returns the token itself, which is shown this once and kept as a digest
 * @throws CodedError `forbidden`, `project_unknown`
 */
export async function createToken(
  deps: TokenDeps,
  person: Person,
  request: CreateToken,
): Promise<TokenView & { token: string }> {
  checkRequest(person, request);
  const id = deps.newId('serviceToken');
  const token = `${serviceTokenPrefix}${deps.newSecret()}`;
  const row = await deps.database.transaction(async (tx) => {
    await requireProject(tx, request.project);
    const [added] = await tx.query<TokenRow>(
      `INSERT INTO service_tokens (id, token_hash, name, project_id, roles, scopes, created_by, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 day') RETURNING ${columns}`,
      [
        id,
        tokenHash(token),
        request.name,
        request.project,
        JSON.stringify(request.roles),
        JSON.stringify(request.scopes),
        person.subject,
        request.expiresInDays,
      ],
    );
    if (added === undefined) throw new Error('a new token was not returned');
    await record(deps, tx, person, added, 'token.created');
    return added;
  });
  return { ...toView(row), token };
}

function checkRequest(person: Person, { project, roles }: CreateToken): void {
  const refuse = (why: string): never => {
    throw new CodedError('forbidden', why);
  };
  if (person.kind !== 'human')
    refuse(`${person.name} is a program. A token is made by a person’s login: lemniscate login.`);
  const place = project === everyProject ? null : project;
  for (const role of roles) {
    if (place !== null && !isProjectRole(role))
      refuse(`The role ${role} is held in every project or not at all: set project to "*".`);
    if (!hasRole(person, place, role) && !hasRole(person, null, 'administrator'))
      refuse(`${person.name} does not hold the role ${role} there and cannot hand it to a token.`);
  }
}

/** Tokens of the projects that the person administers or audits, the newest first. */
export async function listTokens(database: Transaction, person: Person): Promise<TokenView[]> {
  const projects = projectsWith(person, 'project_admin', 'administrator', 'auditor');
  const rows = await database.query<TokenRow>(
    `SELECT ${columns} FROM service_tokens WHERE $1::text[] IS NULL OR project_id = ANY($1)
     ORDER BY created_at DESC, id DESC LIMIT 1000`,
    [projects],
  );
  return rows.map(toView);
}

/**
 * Ends a token at once. A repeat changes nothing.
 * @throws CodedError `not_found` also for tokens of projects that the person does not administer
 */
export async function revokeToken(deps: TokenDeps, person: Person, id: string): Promise<void> {
  const projects = projectsWith(person, 'project_admin', 'administrator');
  await deps.database.transaction(async (tx) => {
    const [row] = await tx.query<TokenRow>(
      `SELECT ${columns} FROM service_tokens WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2)) FOR UPDATE`,
      [id, projects],
    );
    if (row === undefined)
      throw new CodedError('not_found', `There is no token ${id}. GET /v1/tokens lists yours.`);
    if (row.revoked_at !== null) return;
    await tx.query('UPDATE service_tokens SET revoked_at = now() WHERE id = $1', [id]);
    await record(deps, tx, person, row, 'token.revoked');
  });
}

function record(
  deps: TokenDeps,
  tx: Transaction,
  person: Person,
  token: TokenRow,
  type: 'token.created' | 'token.revoked',
): Promise<void> {
  const chain = token.project_id === everyProject ? fleetChain : reviewChain(token.project_id);
  return deps.audit.append(tx, chain, [
    {
      type,
      subject: person.subject,
      body: {
        token: token.id,
        project: token.project_id,
        roles: token.roles,
        scopes: token.scopes,
        expiresAt: token.expires_at,
      },
    },
  ]);
}

interface JudgedRow extends TokenRow {
  readonly over: boolean;
  readonly maker_revoked: boolean;
  readonly stale: boolean;
}

/** What a token's row says of whether it still holds. */
const judged = `${columns}, expires_at <= now() AS over,
  created_by LIKE 'token:%' OR EXISTS (SELECT FROM revoked_users r WHERE r.subject = created_by) AS maker_revoked,
  used_at IS NULL OR used_at < now() - interval '1 minute' AS stale`;

/** How a token is called where a person's subject would stand. */
const tokenSubject = /^token:(.+)$/;

const personOfToken = (row: TokenRow): Person => ({
  subject: `token:${row.id}`,
  name: row.name,
  kind: 'automation',
  ...sortGrants(row.roles.map((role) => ({ role, project: row.project_id }))),
  scopes: row.scopes,
  expiresAt: row.expires_at,
});

/** Who a token is at this moment, by its subject; null for one that holds no more, and for what is no token's subject. */
export async function findToken(database: Transaction, subject: string): Promise<Person | null> {
  const id = tokenSubject.exec(subject)?.[1];
  if (id === undefined) return null;
  const [row] = await database.query<JudgedRow>(`SELECT ${judged} FROM service_tokens WHERE id = $1`, [id]);
  if (row === undefined || row.revoked_at !== null || row.maker_revoked || row.over) return null;
  return personOfToken(row);
}

/**
 * Whose token it is. A token dies with the access of the person who made it.
 * @throws CodedError `unauthenticated`, `login_revoked`
 */
export async function authenticateToken(database: Transaction, token: string): Promise<Person> {
  const [row] = await database.query<JudgedRow>(
    `SELECT ${judged} FROM service_tokens WHERE token_hash = $1`,
    [tokenHash(token)],
  );
  if (row === undefined)
    throw new CodedError(
      'unauthenticated',
      'The service token is not known here. Make one with POST /v1/tokens.',
    );
  if (row.revoked_at !== null || row.maker_revoked)
    throw new CodedError('login_revoked', `The service token ${row.id} was revoked. Make another one.`);
  if (row.over)
    throw new CodedError('unauthenticated', `The service token ${row.id} expired at ${row.expires_at}.`);
  // A request must not become a write: once a minute is what "is it still used?" needs.
  if (row.stale) await database.query('UPDATE service_tokens SET used_at = now() WHERE id = $1', [row.id]);
  return personOfToken(row);
}
