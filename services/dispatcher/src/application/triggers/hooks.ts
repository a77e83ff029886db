import { hookDefinitionSchema } from '@lemniscate/shared/api/trigger.ts';
import type { HookDefinition, HookView, WebhookSourceName } from '@lemniscate/shared/api/trigger.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { requireProject } from '../access/role-bindings.ts';
import { projectsWith, requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface HookDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
  readonly credentials: CredentialStore;
  /** 256 random bits as text. */
  readonly newSecret: () => string;
}

export interface HookRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly version: number;
  readonly source: WebhookSourceName;
  readonly owner: string;
  readonly definition: unknown;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly created_at: string;
}

const columns = 'id, project_id, version, source, owner, definition, enabled, disabled_reason, created_at';
/** Name of a hook's one credential. */
export const hookSecret = 'SECRET';

export const definitionOfHook = (row: Pick<HookRow, 'definition'>): HookDefinition =>
  hookDefinitionSchema.parse(row.definition);

export const toHookView = (row: HookRow, publicUrl: URL): HookView => ({
  id: row.id,
  project: row.project_id,
  version: row.version,
  source: row.source,
  owner: row.owner,
  definition: definitionOfHook(row),
  enabled: row.enabled,
  disabledReason: row.disabled_reason,
  url: new URL(`/v1/hooks/${row.id}`, publicUrl).href,
  createdAt: row.created_at,
});

const requireAdmin = (person: Person, project: string): void =>
  requireRole(person, project, 'handle the webhooks of this project', 'project_admin', 'administrator');

/**
 * Makes an address to which another system sends what happens there. Its sessions run with the rights of whoever makes it.
 * @returns the secret, which is shown this once and kept encrypted
 * @throws CodedError `forbidden`, `project_unknown`, `request_invalid` where the fleet has no key for credentials
 */
export async function createHook(
  deps: HookDeps,
  person: Person,
  wanted: {
    readonly project: string;
    readonly source: WebhookSourceName;
    readonly definition: HookDefinition;
    readonly secret?: string | undefined;
  },
): Promise<{ hook: HookRow; secret: string }> {
  requireAdmin(person, wanted.project);
  const secret = wanted.secret ?? deps.newSecret();
  const hook = await deps.database.transaction(async (tx) => {
    await requireProject(tx, wanted.project);
    const id = deps.newId('hook');
    const [row] = await tx.query<HookRow>(
      `INSERT INTO hooks (id, project_id, source, owner, definition, enabled) VALUES ($1, $2, $3, $4, $5, $6)
       RETURNING ${columns}`,
      [
        id,
        wanted.project,
        wanted.source,
        person.subject,
        JSON.stringify(wanted.definition),
        wanted.definition.enabled,
      ],
    );
    if (row === undefined) throw new Error('a new hook was not returned');
    await deps.credentials.set(tx, { kind: 'hook', id }, hookSecret, secret, person.subject);
    await record(deps, tx, person, row, true);
    return row;
  });
  return { hook, secret };
}

/**
 * Changes a hook, against the version that was seen; it runs with the rights of whoever changed it last.
 * @throws CodedError `not_found`, `forbidden`, `version_conflict`
 */
export async function changeHook(
  deps: HookDeps,
  person: Person,
  id: string,
  change: {
    readonly definition: HookDefinition;
    readonly secret?: string | undefined;
    readonly seen: number;
  },
): Promise<HookRow> {
  return deps.database.transaction(async (tx) => {
    await lockHook(tx, person, id, change.seen);
    const [row] = await tx.query<HookRow>(
      `UPDATE hooks SET version = version + 1, owner = $2, definition = $3, enabled = $4, disabled_reason = NULL
       WHERE id = $1 RETURNING ${columns}`,
      [id, person.subject, JSON.stringify(change.definition), change.definition.enabled],
    );
    if (row === undefined) throw new Error('a locked hook is gone');
    if (change.secret !== undefined)
      await deps.credentials.set(tx, { kind: 'hook', id }, hookSecret, change.secret, person.subject);
    await record(deps, tx, person, row, change.secret !== undefined);
    return row;
  });
}

/** @throws CodedError `not_found`, `forbidden`, `version_conflict` */
export async function removeHook(deps: HookDeps, person: Person, id: string, seen: number): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const { project_id: project } = await lockHook(tx, person, id, seen);
    await tx.query('DELETE FROM hooks WHERE id = $1', [id]);
    await deps.credentials.remove(tx, { kind: 'hook', id }, hookSecret);
    await deps.audit.append(tx, reviewChain(project), [
      { type: 'hook.removed', subject: person.subject, body: { hook: id, project } },
    ]);
  });
}

async function lockHook(tx: Transaction, person: Person, id: string, seen: number): Promise<HookRow> {
  const [row] = await tx.query<HookRow>(
    `SELECT ${columns} FROM hooks WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2)) FOR UPDATE`,
    [id, projectsWith(person, 'project_admin', 'administrator')],
  );
  if (row === undefined) throw unknownHook(id);
  if (row.version === seen) return row;
  throw new CodedError(
    'version_conflict',
    `Hook ${id} is at version ${row.version}, not ${seen}. Read it again and change that.`,
    { hook: id, version: row.version },
  );
}

export const unknownHook = (id: string): CodedError =>
  new CodedError('not_found', `There is no hook ${id}.`, { hook: id });

/** Hooks of the projects that the person administers, the newest first. */
export async function listHooks(tx: Transaction, person: Person): Promise<HookRow[]> {
  return tx.query<HookRow>(
    `SELECT ${columns} FROM hooks WHERE $1::text[] IS NULL OR project_id = ANY($1) ORDER BY id DESC LIMIT 1000`,
    [projectsWith(person, 'project_admin', 'administrator', 'auditor')],
  );
}

/** A hook of a project that the person administers. @throws CodedError `not_found` */
export async function findHook(tx: Transaction, person: Person, id: string): Promise<HookRow> {
  const [row] = await tx.query<HookRow>(
    `SELECT ${columns} FROM hooks WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2))`,
    [id, projectsWith(person, 'project_admin', 'administrator', 'auditor')],
  );
  if (row === undefined) throw unknownHook(id);
  return row;
}

/** A hook as a sender names it; null: there is none. */
export async function readHook(tx: Transaction, id: string): Promise<HookRow | null> {
  const [row] = await tx.query<HookRow>(`SELECT ${columns} FROM hooks WHERE id = $1`, [id]);
  return row ?? null;
}

async function record(
  deps: HookDeps,
  tx: Transaction,
  person: Person,
  row: HookRow,
  newSecret: boolean,
): Promise<void> {
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'hook.changed',
      subject: person.subject,
      body: {
        hook: row.id,
        project: row.project_id,
        source: row.source,
        version: row.version,
        newSecret,
      },
    },
  ]);
}
