import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Cause } from '@lemniscate/shared/api/delivery.ts';
import { cloudEventSchema } from '@lemniscate/shared/triggers/cloud-event.ts';
import type { CloudEvent } from '@lemniscate/shared/triggers/cloud-event.ts';
import { unmatched } from '@lemniscate/shared/triggers/event-filter.ts';
import type { Refusal } from '@lemniscate/shared/api/delivery.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { requireProject } from '../access/role-bindings.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import { personActor } from '../objects/actor.ts';
import type { Actor } from '../objects/actor.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { refuse, wishForSession } from './delivery.ts';
import type { DeliveryDeps } from './delivery.ts';
import { takeReceipt } from './receipts.ts';
import { definitionOf, termsOf, triggerColumns } from './trigger-row.ts';
import type { TriggerRow } from './trigger-row.ts';

export interface EventDeps extends DeliveryDeps {
  readonly database: Database;
  readonly signals: Signals;
}

/** Something that has happened in a project, for its triggers. */
export interface ProjectEvent {
  readonly project: string;
  readonly cause: Cause;
  readonly event: CloudEvent;
  readonly actor: Actor;
  /** Why the actor may start nothing; null: they may. */
  readonly barred: { readonly reason: Refusal; readonly message: string } | null;
  readonly object?: string;
  readonly comment?: string;
  readonly hook?: string;
  readonly externalId?: string;
}

/** Characters of an event that its session is told. */
const toldLength = 20_000;

/** Asks for a session of every trigger of the project whose filters the event passes. @returns the deliveries */
export async function setOffTriggers(
  deps: DeliveryDeps,
  tx: Transaction,
  happened: ProjectEvent,
): Promise<string[]> {
  const rows = await tx.query<TriggerRow>(
    `SELECT ${triggerColumns} FROM triggers WHERE project_id = $1 AND kind = 'event' AND enabled ORDER BY id`,
    [happened.project],
  );
  const deliveries: string[] = [];
  for (const row of rows) {
    const definition = definitionOf(row);
    const { when } = definition;
    if (when.kind !== 'event' || unmatched(happened.event, when.filters).length > 0) continue;
    const { event, barred, ...origin } = happened;
    const wish = {
      ...origin,
      agent: definition.agent,
      owner: row.owner,
      trigger: row.id,
      terms: {
        ...termsOf(definition),
        event: JSON.stringify(event, null, 1).slice(0, toldLength).toWellFormed(),
      },
    };
    deliveries.push(
      barred === null
        ? await wishForSession(deps, tx, wish)
        : await refuse(deps, tx, wish, barred.reason, barred.message),
    );
  }
  return deliveries;
}

/**
 * Takes an event from outside, once: the same id of the same source, or the same content, sets nothing off again.
 * @throws CodedError `forbidden`, `project_unknown`
 */
export async function takeEvent(
  deps: EventDeps,
  person: Person,
  project: string,
  event: CloudEvent,
): Promise<{ duplicate: boolean; deliveries: string[] }> {
  requireRole(person, project, 'send events here', 'member', 'project_admin', 'administrator');
  const digest = createHash('sha256')
    .update(canonicalize(event) ?? '')
    .digest('hex');
  const taken = await deps.database.transaction(async (tx) => {
    await requireProject(tx, project);
    const externalId = `${event.source} ${event.id}`;
    const isNew = await takeReceipt(tx, { origin: `events:${project}`, externalId, digest });
    if (!isNew) return { duplicate: true, deliveries: [] };
    const deliveries = await setOffTriggers(deps, tx, {
      project,
      cause: 'event',
      event,
      actor: personActor(person),
      barred: null,
      externalId: event.id,
    });
    return { duplicate: false, deliveries };
  });
  deps.signals.send('wishes', undefined);
  return taken;
}

/** Tells the triggers of a project that something was done to an object of its workspace. */
export async function tellTriggers(
  deps: DeliveryDeps,
  tx: Transaction,
  about: { readonly project: string; readonly object: string; readonly comment?: string },
  actor: Actor,
  type: 'created' | 'changed' | 'commented',
  data: Readonly<Record<string, JsonValue>>,
): Promise<void> {
  // What accounts outside do is told as that system's own event.
  if (actor.kind === 'external') return;
  const event = cloudEventSchema.parse({
    specversion: '1.0',
    id: deps.newId('delivery'),
    source: `/v1/objects/${about.object}`,
    type: `lemniscate.object.${type}`,
    subject: about.object,
    datacontenttype: 'application/json',
    data: { ...data, actor: { kind: actor.kind, id: actor.id } },
  });
  await setOffTriggers(deps, tx, { ...about, cause: 'event', event, actor, barred: null });
}
