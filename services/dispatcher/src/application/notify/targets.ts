import { isCarrier, targetDefinitionSchema } from '@lemniscate/shared/api/notify.ts';
import type { TargetDefinition, TargetView } from '@lemniscate/shared/api/notify.ts';
import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import { requireProject } from '../access/role-bindings.ts';
import { projectsWith, requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface TargetDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
  readonly credentials: CredentialStore;
  /** 256 random bits in base64url. */
  readonly newSecret: () => string;
}

export interface TargetRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly version: number;
  readonly definition: unknown;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly changed_by: string;
  readonly created_at: string;
}

const columns = 'id, project_id, version, definition, enabled, disabled_reason, changed_by, created_at';
/** Name of a target's one credential. */
export const targetSecret = 'SECRET';

export const definitionOfTarget = (row: Pick<TargetRow, 'definition'>): TargetDefinition =>
  targetDefinitionSchema.parse(row.definition);

export const toTargetView = (row: TargetRow): TargetView => ({
  id: row.id,
  project: row.project_id,
  version: row.version,
  definition: definitionOfTarget(row),
  enabled: row.enabled,
  disabledReason: row.disabled_reason,
  changedBy: row.changed_by,
  createdAt: row.created_at,
});

function requireAdmin(person: Person, project: string): void {
  if (project === everyProject) requireRole(person, null, 'tell others of the whole fleet', 'administrator');
  else requireRole(person, project, 'tell others of this project', 'administrator', 'project_admin');
}

const signingKey = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;
const invalid = (why: string): CodedError => new CodedError('request_invalid', why);

/** The secret that a place of this kind is used with; null: it needs none. @throws CodedError `request_invalid` */
function secretFor(
  { place }: TargetDefinition,
  given: string | undefined,
  newSecret: () => string,
): string | null {
  switch (place.kind) {
    case 'webhook':
      if (given !== undefined && !signingKey.test(given))
        throw invalid('The secret of a webhook is "whsec_" and at least 24 bytes in base64.');
      return given ?? `whsec_${Buffer.from(newSecret(), 'base64url').toString('base64')}`;
    case 'slack':
      if (given === undefined || !URL.canParse(given))
        throw invalid('Slack needs the address of an incoming webhook as its secret.');
      return given;
    case 'email':
      if (given !== undefined) throw invalid('E-mail needs no secret: the fleet has one mail server.');
      return null;
    case 'github':
    case 'gitlab':
    case 'slack_thread':
      if (given === undefined)
        throw invalid('Comments are written with a token of that system: send it as the secret.');
      return given;
  }
}

// A hook of any project names what is commented on: a token of the whole fleet would be every project admin's.
function requireOneProject(project: string, { place }: TargetDefinition): void {
  if (project === everyProject && isCarrier(place))
    throw invalid('Comments are carried for one project: name it instead of "*".');
}

/**
 * Makes a place that is told of what happens in a project, or everywhere.
 * @returns the secret of a webhook, which is shown this once and kept encrypted
 * @throws CodedError `forbidden`, `project_unknown`, `request_invalid`
 */
export async function createTarget(
  deps: TargetDeps,
  person: Person,
  wanted: {
    readonly project: string;
    readonly definition: TargetDefinition;
    readonly secret?: string | undefined;
  },
): Promise<{ target: TargetRow; secret: string | null }> {
  requireAdmin(person, wanted.project);
  requireOneProject(wanted.project, wanted.definition);
  const secret = secretFor(wanted.definition, wanted.secret, deps.newSecret);
  const target = await deps.database.transaction(async (tx) => {
    await requireProject(tx, wanted.project);
    const id = deps.newId('notifyTarget');
    const [row] = await tx.query<TargetRow>(
      `INSERT INTO notify_targets (id, project_id, definition, enabled, changed_by) VALUES ($1, $2, $3, $4, $5)
       RETURNING ${columns}`,
      [id, wanted.project, JSON.stringify(wanted.definition), wanted.definition.enabled, person.subject],
    );
    if (row === undefined) throw new Error('a new target was not returned');
    if (secret !== null) await keepSecret(deps, tx, id, secret, person);
    await record(deps, tx, row.project_id, changed(row, person));
    return row;
  });
  return { target, secret: wanted.definition.place.kind === 'webhook' ? secret : null };
}

async function keepSecret(
  { credentials }: TargetDeps,
  tx: Transaction,
  id: string,
  secret: string,
  person: Person,
): Promise<void> {
  await credentials.set(tx, { kind: 'notify_target', id }, targetSecret, secret, person.subject);
}

/** @throws CodedError `not_found`, `forbidden`, `version_conflict`, `request_invalid` */
export async function changeTarget(
  deps: TargetDeps,
  person: Person,
  id: string,
  change: {
    readonly definition: TargetDefinition;
    readonly secret?: string | undefined;
    readonly seen: number;
  },
): Promise<TargetRow> {
  return deps.database.transaction(async (tx) => {
    const current = await findTarget(tx, person, id, 'FOR UPDATE');
    requireVersion(current, change.seen);
    requireOneProject(current.project_id, change.definition);
    const samePlace = isSamePlace(definitionOfTarget(current), change.definition);
    const secret =
      samePlace && change.secret === undefined
        ? null
        : secretFor(change.definition, change.secret, () => {
            throw invalid('Another place needs a secret of its own: send one.');
          });
    const [row] = await tx.query<TargetRow>(
      `UPDATE notify_targets SET version = version + 1, definition = $2, enabled = $3, changed_by = $4,
         disabled_reason = NULL WHERE id = $1 RETURNING ${columns}`,
      [id, JSON.stringify(change.definition), change.definition.enabled, person.subject],
    );
    if (row === undefined) throw new Error('a locked target is gone');
    if (secret !== null) await keepSecret(deps, tx, id, secret, person);
    await record(deps, tx, row.project_id, changed(row, person));
    return row;
  });
}

/** A token that was given for one host is not shown to another. */
function isSamePlace({ place: before }: TargetDefinition, { place: now }: TargetDefinition): boolean {
  if (before.kind !== now.kind) return false;
  return !isCarrier(now) || JSON.stringify(before) === JSON.stringify(now);
}

/** @throws CodedError `not_found`, `forbidden`, `version_conflict` */
export async function removeTarget(
  deps: TargetDeps,
  person: Person,
  id: string,
  seen: number,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await findTarget(tx, person, id, 'FOR UPDATE');
    requireVersion(row, seen);
    await tx.query('DELETE FROM notify_targets WHERE id = $1', [id]);
    await deps.credentials.remove(tx, { kind: 'notify_target', id }, targetSecret);
    const body = { target: id, project: row.project_id };
    await record(deps, tx, row.project_id, { type: 'target.removed', subject: person.subject, body });
  });
}

function requireVersion(row: TargetRow, seen: number): void {
  if (row.version === seen) return;
  throw new CodedError(
    'version_conflict',
    `Target ${row.id} is at version ${row.version}, not ${seen}. Read it again and change that.`,
    { target: row.id, version: row.version },
  );
}

const mine = (person: Person): readonly string[] | null =>
  projectsWith(person, 'project_admin', 'administrator', 'auditor');

/** A target that the person administers. @throws CodedError `not_found` */
export async function findTarget(
  tx: Transaction,
  person: Person,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<TargetRow> {
  const [row] = await tx.query<TargetRow>(
    `SELECT ${columns} FROM notify_targets WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2)) ${lock}`,
    [id, mine(person)],
  );
  if (row === undefined)
    throw new CodedError('not_found', `There is no target ${id} here. GET /v1/notify-targets lists them.`, {
      target: id,
    });
  if (lock !== '') requireAdmin(person, row.project_id);
  return row;
}

/** Targets that the person administers, the newest first. */
export async function listTargets(tx: Transaction, person: Person): Promise<TargetRow[]> {
  return tx.query<TargetRow>(
    `SELECT ${columns} FROM notify_targets WHERE $1::text[] IS NULL OR project_id = ANY($1) ORDER BY id DESC LIMIT 1000`,
    [mine(person)],
  );
}

const changed = (row: TargetRow, person: Person): AuditDraft => ({
  type: 'target.changed',
  subject: person.subject,
  body: {
    target: row.id,
    project: row.project_id,
    kind: definitionOfTarget(row).place.kind,
    version: row.version,
    enabled: row.enabled,
  },
});

/** Writes an entry about a target to where its project's are. */
export function record(
  { audit }: { readonly audit: AuditLog },
  tx: Transaction,
  project: string,
  draft: AuditDraft,
): Promise<void> {
  return audit.append(tx, project === everyProject ? fleetChain : reviewChain(project), [draft]);
}
