import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { CreateObject } from '@lemniscate/shared/api/object.ts';
import { requireProject } from '../access/role-bindings.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { harmlessText } from '../events/harmless.ts';
import type { DeliveryDeps } from '../triggers/delivery.ts';
import { auditActor, auditSubject, personActor } from './actor.ts';
import type { Actor } from './actor.ts';
import { recordAct } from './history.ts';
import { objectColumns } from './object-row.ts';
import type { ObjectRow } from './object-row.ts';
import { tellTriggers } from '../triggers/take-event.ts';
import { tellAssignee } from './tell-agents.ts';

export interface ObjectDeps extends DeliveryDeps {
  readonly database: Database;
  readonly signals: Signals;
}

/**
 * Creates an object of the workspace.
 * @throws CodedError `forbidden`, `project_unknown`
 */
export async function createObject(
  deps: ObjectDeps,
  person: Person,
  wanted: CreateObject,
): Promise<ObjectRow> {
  requireRole(person, wanted.project, 'create an object', 'member', 'project_admin', 'administrator');
  const actor = personActor(person);
  const object = await deps.database.transaction(async (tx) => {
    await requireProject(tx, wanted.project);
    const created = await insertObject(deps, tx, actor, wanted);
    await tellAssignee(deps, tx, { object: created, actor, owner: person.subject });
    return created;
  });
  deps.signals.send('wishes', undefined);
  return object;
}

/** What a picture of something in another system has beside. */
export interface ObjectSource {
  readonly source: string;
  readonly sourceKey: string;
  readonly url: string | null;
}

/** Writes a new object with its history and its entry. */
export async function insertObject(
  deps: DeliveryDeps,
  tx: Transaction,
  actor: Actor,
  wanted: CreateObject,
  from: ObjectSource | null = null,
): Promise<ObjectRow> {
  const [row] = await tx.query<ObjectRow>(
    `INSERT INTO objects (id, project_id, type, title, body, status, labels, assignee_kind, assigned_to, repository, source,
       source_key, url, actor_kind, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING ${objectColumns}`,
    [
      deps.newId('object'),
      wanted.project,
      wanted.type,
      harmlessText(wanted.title),
      harmlessText(wanted.body),
      wanted.status,
      wanted.labels,
      wanted.assignee?.kind ?? null,
      wanted.assignee?.id ?? null,
      wanted.repository === undefined ? null : JSON.stringify(wanted.repository),
      from?.source ?? 'workspace',
      from?.sourceKey ?? null,
      from?.url ?? null,
      actor.kind,
      actor.id,
    ],
  );
  if (row === undefined) throw new Error('a new object was not returned');
  await recordAct(tx, row.id, actor, 'created', {
    status: row.status,
    ...(wanted.assignee === null ? {} : { assignee: { ...wanted.assignee } }),
  });
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'object.created',
      subject: auditSubject(actor, deps.self),
      body: { object: row.id, project: row.project_id, type: row.type, ...auditActor(actor) },
    },
  ]);
  await tellTriggers(deps, tx, { project: row.project_id, object: row.id }, actor, 'created', {
    type: row.type,
    status: row.status,
    labels: row.labels,
  });
  return row;
}
