import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { ChangeObject } from '@lemniscate/shared/api/object.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { harmlessText } from '../events/harmless.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { DeliveryDeps } from '../triggers/delivery.ts';
import { auditActor, auditSubject, personActor } from './actor.ts';
import type { Actor } from './actor.ts';
import type { ObjectDeps } from './create-object.ts';
import { recordAct } from './history.ts';
import { findObject, objectColumns } from './object-row.ts';
import type { ObjectRow } from './object-row.ts';
import { tellTargets } from '../notify/tell-targets.ts';
import { tellTriggers } from '../triggers/take-event.ts';
import { tellAssignee } from './tell-agents.ts';

/**
 * Changes an object, against the version that the person saw. A change that says what is there already is none.
 * @throws CodedError `not_found`, `forbidden`, `version_conflict`
 */
export async function changeObject(
  deps: ObjectDeps,
  person: Person,
  id: string,
  { change, seen }: { readonly change: ChangeObject; readonly seen: number },
): Promise<ObjectRow> {
  const actor = personActor(person);
  const changed = await deps.database.transaction(async (tx) => {
    const object = await findObject(tx, person, id, 'FOR UPDATE');
    requireRole(person, object.project_id, 'change this object', 'member', 'project_admin', 'administrator');
    if (object.version !== seen)
      throw new CodedError(
        'version_conflict',
        `Object ${id} is at version ${object.version}, not ${seen}. Read it again and change that.`,
        { object: id, version: object.version },
      );
    return applyChange(deps, tx, object, actor, person.subject, change);
  });
  deps.signals.send('wishes', undefined);
  return changed;
}

/** The columns of a change, and what the history tells of each. */
function difference(object: ObjectRow, change: ChangeObject) {
  const columns: [name: string, value: unknown][] = [];
  const detail: Record<string, JsonValue> = {};
  const texts = { title: change.title, body: change.body };
  for (const [name, text] of Object.entries(texts)) {
    const value = text === undefined ? undefined : harmlessText(text);
    if (value === undefined || value === object[name]) continue;
    columns.push([name, value]);
    detail[name] = 'changed';
  }
  if (change.status !== undefined && change.status !== object.status) {
    columns.push(['status', change.status]);
    detail['status'] = { from: object.status, to: change.status };
  }
  if (change.labels !== undefined && change.labels.join('\n') !== object.labels.join('\n')) {
    columns.push(['labels', change.labels]);
    detail['labels'] = { from: object.labels, to: change.labels };
  }
  const { assignee } = change;
  if (
    assignee !== undefined &&
    (assignee?.kind !== (object.assignee_kind ?? undefined) ||
      assignee?.id !== (object.assigned_to ?? undefined))
  ) {
    columns.push(['assignee_kind', assignee?.kind ?? null], ['assigned_to', assignee?.id ?? null]);
    detail['assignee'] = assignee === null ? null : { ...assignee };
  }
  if (
    change.repository !== undefined &&
    JSON.stringify(change.repository) !== JSON.stringify(object.repository)
  ) {
    columns.push(['repository', change.repository === null ? null : JSON.stringify(change.repository)]);
    detail['repository'] = 'changed';
  }
  return { columns, detail };
}

/** Changes an object that the caller has locked, writes history and entry, and asks a new assignee for a session. */
export async function applyChange(
  deps: DeliveryDeps,
  tx: Transaction,
  object: ObjectRow,
  actor: Actor,
  owner: string,
  change: ChangeObject,
): Promise<ObjectRow> {
  const { columns, detail } = difference(object, change);
  if (columns.length === 0) return object;
  const [row] = await tx.query<ObjectRow>(
    `UPDATE objects SET version = version + 1, changed_at = now(),
       ${columns.map(([name], index) => `${name} = $${index + 2}`).join(', ')}
     WHERE id = $1 RETURNING ${objectColumns}`,
    [object.id, ...columns.map(([, value]) => value)],
  );
  if (row === undefined) throw new Error('a locked object is gone');
  await recordAct(tx, row.id, actor, 'changed', detail);
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'object.changed',
      subject: auditSubject(actor, deps.self),
      body: {
        object: row.id,
        version: row.version,
        changed: Object.keys(detail),
        ...(row.status === object.status ? {} : { status: row.status }),
        ...auditActor(actor),
      },
    },
  ]);
  await tellTargets(tx, {
    project: row.project_id,
    type: 'object.changed',
    about: `object:${row.id}:${row.version}`,
    data: {
      object: row.id,
      project: row.project_id,
      title: row.title,
      status: row.status,
      by: actor.id,
      changed: Object.keys(detail),
      source: row.source,
      sourceKey: row.source_key,
    },
  });
  await tellTriggers(deps, tx, { project: row.project_id, object: row.id }, actor, 'changed', {
    type: row.type,
    status: row.status,
    labels: row.labels,
    changed: detail,
  });
  if ('assignee' in detail) await tellAssignee(deps, tx, { object: row, actor, owner });
  return row;
}
