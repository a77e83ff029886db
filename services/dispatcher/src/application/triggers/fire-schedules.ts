import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { wishForSession } from './delivery.ts';
import type { DeliveryDeps } from './delivery.ts';
import { slotsToFire } from './schedule.ts';
import { definitionOf, termsOf, triggerColumns } from './trigger-row.ts';
import type { TriggerRow } from './trigger-row.ts';

export interface ScheduleDeps extends DeliveryDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly log: Log;
}

/** Most of one pass. */
const atOnce = 100;

/**
 * Fires every schedule that is due. A time of a schedule is a row of its own, once for the whole fleet: whichever
 * dispatcher writes it has fired, and one that restarts goes on with what is due since.
 * @returns how many sessions were asked for
 */
export async function fireSchedules(deps: ScheduleDeps): Promise<number> {
  const now = deps.clock.now();
  const due = await deps.database.query<{ id: string }>(
    `SELECT id FROM triggers WHERE enabled AND kind = 'cron' AND next_slot <= $1 ORDER BY next_slot LIMIT ${atOnce}`,
    [now.toISOString()],
  );
  let fired = 0;
  for (const { id } of due) fired += await deps.database.transaction((tx) => fire(deps, tx, id, now));
  if (fired > 0) deps.signals.send('wishes', undefined);
  return fired;
}

async function fire(deps: ScheduleDeps, tx: Transaction, id: string, now: Date): Promise<number> {
  // Another dispatcher may be at it: then there is nothing to do here.
  const [row] = await tx.query<TriggerRow>(
    `SELECT ${triggerColumns} FROM triggers WHERE id = $1 AND enabled AND kind = 'cron' FOR UPDATE SKIP LOCKED`,
    [id],
  );
  if (row === undefined || row.next_slot === null || new Date(row.next_slot) > now) return 0;
  const definition = definitionOf(row);
  if (definition.when.kind !== 'cron') return 0;
  const { slots, next } = slotsToFire(definition.when, new Date(row.next_slot), now);
  let fired = 0;
  for (const slot of slots) if (await fireSlot(deps, tx, row, slot)) fired += 1;
  await tx.query('UPDATE triggers SET next_slot = $2 WHERE id = $1', [id, next?.toISOString() ?? null]);
  if (slots.length === 0)
    deps.log.info({ trigger: id, due: row.next_slot }, 'times of a schedule were missed');
  return fired;
}

async function fireSlot(deps: ScheduleDeps, tx: Transaction, row: TriggerRow, slot: Date): Promise<boolean> {
  const [taken] = await tx.query(
    'INSERT INTO schedule_slots (trigger_id, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1',
    [row.id, slot.toISOString()],
  );
  if (taken === undefined) return false;
  const definition = definitionOf(row);
  const delivery = await wishForSession(deps, tx, {
    project: row.project_id,
    cause: 'cron',
    agent: definition.agent,
    owner: row.owner,
    actor: { kind: 'person', id: row.owner, member: row.owner },
    trigger: row.id,
    externalId: slot.toISOString(),
    terms: { ...termsOf(definition), event: `The schedule was due at ${slot.toISOString()}.` },
  });
  await tx.query('UPDATE schedule_slots SET delivery_id = $3 WHERE trigger_id = $1 AND slot = $2', [
    row.id,
    slot.toISOString(),
    delivery,
  ]);
  return true;
}
