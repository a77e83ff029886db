import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { TriggerDefinition } from '@lemniscate/shared/api/trigger.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { requireProject } from '../access/role-bindings.ts';
import { loadAgent } from '../agents/agents.ts';
import { hasRole, requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { nextSlot } from './schedule.ts';
import { findTrigger, triggerColumns } from './trigger-row.ts';
import type { TriggerRow } from './trigger-row.ts';

export interface TriggerDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** Triggers that one project may have. */
const mostTriggers = 500;

/**
 * Makes a trigger that runs with the rights of whoever makes it.
 * @throws CodedError `forbidden`, `project_unknown`, `agent_unknown`, `request_invalid` for a schedule that is none
 */
export async function createTrigger(
  deps: TriggerDeps,
  person: Person,
  project: string,
  definition: TriggerDefinition,
): Promise<TriggerRow> {
  requireWorker(person, project);
  return deps.database.transaction(async (tx) => {
    await requireProject(tx, project);
    await loadAgent(tx, project, definition.agent);
    const [count] = await tx.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM triggers WHERE project_id = $1',
      [project],
    );
    if ((count?.n ?? 0) >= mostTriggers)
      throw new CodedError(
        'conflict',
        `Project "${project}" has ${mostTriggers} triggers. Remove one first.`,
      );
    const [row] = await tx.query<TriggerRow>(
      `INSERT INTO triggers (id, project_id, kind, owner, definition, enabled, next_slot)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${triggerColumns}`,
      [deps.newId('trigger'), project, ...columnsOf(deps, person, definition)],
    );
    if (row === undefined) throw new Error('a new trigger was not returned');
    await record(deps, tx, person, row);
    return row;
  });
}

function columnsOf({ clock }: TriggerDeps, person: Person, definition: TriggerDefinition): unknown[] {
  const { when } = definition;
  const next = when.kind === 'cron' ? nextSlot(when, clock.now()) : null;
  if (when.kind === 'cron' && next === null)
    throw new CodedError('request_invalid', `The schedule "${when.pattern}" names a time that never comes.`);
  return [
    when.kind,
    person.subject,
    JSON.stringify(definition),
    definition.enabled,
    next?.toISOString() ?? null,
  ];
}

const requireWorker = (person: Person, project: string): void =>
  requireRole(person, project, 'make a trigger here', 'member', 'project_admin', 'administrator');

/** Others' triggers are for administrators: whoever changes one owns it from then on. */
function requireOwnerOrAdmin(person: Person, row: TriggerRow): void {
  requireWorker(person, row.project_id);
  if (row.owner === person.subject || hasRole(person, row.project_id, 'project_admin', 'administrator'))
    return;
  throw new CodedError(
    'forbidden',
    `Trigger ${row.id} is somebody else's. Its owner or an administrator changes it.`,
  );
}

/**
 * Changes a trigger, against the version that was seen. It runs with the rights of whoever changed it last: nobody's rights
 * can be put to another's use.
 * @throws CodedError `not_found`, `forbidden`, `version_conflict`, `agent_unknown`, `request_invalid`
 */
export async function changeTrigger(
  deps: TriggerDeps,
  person: Person,
  id: string,
  { definition, seen }: { readonly definition: TriggerDefinition; readonly seen: number },
): Promise<TriggerRow> {
  return deps.database.transaction(async (tx) => {
    const current = await findTrigger(tx, person, id, 'FOR UPDATE');
    requireOwnerOrAdmin(person, current);
    requireVersion(current, seen);
    await loadAgent(tx, current.project_id, definition.agent);
    const [row] = await tx.query<TriggerRow>(
      `UPDATE triggers SET version = version + 1, kind = $2, owner = $3, definition = $4, enabled = $5, next_slot = $6,
         disabled_reason = NULL, changed_at = now() WHERE id = $1 RETURNING ${triggerColumns}`,
      [id, ...columnsOf(deps, person, definition)],
    );
    if (row === undefined) throw new Error('a locked trigger is gone');
    await record(deps, tx, person, row);
    return row;
  });
}

/** @throws CodedError `not_found`, `forbidden`, `version_conflict` */
export async function removeTrigger(
  deps: TriggerDeps,
  person: Person,
  id: string,
  seen: number,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const current = await findTrigger(tx, person, id, 'FOR UPDATE');
    requireOwnerOrAdmin(person, current);
    requireVersion(current, seen);
    await tx.query('DELETE FROM triggers WHERE id = $1', [id]);
    const body = { trigger: id, project: current.project_id };
    await deps.audit.append(tx, reviewChain(current.project_id), [
      { type: 'trigger.removed', subject: person.subject, body },
    ]);
  });
}

function requireVersion(row: TriggerRow, seen: number): void {
  if (row.version === seen) return;
  throw new CodedError(
    'version_conflict',
    `Trigger ${row.id} is at version ${row.version}, not ${seen}. Read it again and change that.`,
    { trigger: row.id, version: row.version },
  );
}

async function record(deps: TriggerDeps, tx: Transaction, person: Person, row: TriggerRow): Promise<void> {
  const definitionDigest = createHash('sha256')
    .update(canonicalize(row.definition) ?? '')
    .digest('hex');
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'trigger.changed',
      subject: person.subject,
      body: { trigger: row.id, project: row.project_id, version: row.version, definitionDigest },
    },
  ]);
}
