import { triggerDefinitionSchema } from '@lemniscate/shared/api/trigger.ts';
import type { TriggerDefinition, TriggerView } from '@lemniscate/shared/api/trigger.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { projectsSeenBy } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { StartTerms } from './delivery.ts';

export interface TriggerRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly version: number;
  readonly owner: string;
  readonly definition: unknown;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly next_slot: string | null;
  readonly created_at: string;
  readonly changed_at: string;
}

export const triggerColumns =
  'id, project_id, version, owner, definition, enabled, disabled_reason, next_slot, created_at, changed_at';

export const definitionOf = (row: Pick<TriggerRow, 'definition'>): TriggerDefinition =>
  triggerDefinitionSchema.parse(row.definition);

export const toTriggerView = (row: TriggerRow): TriggerView => ({
  id: row.id,
  project: row.project_id,
  version: row.version,
  owner: row.owner,
  definition: definitionOf(row),
  enabled: row.enabled,
  disabledReason: row.disabled_reason,
  nextAt: row.next_slot,
  createdAt: row.created_at,
  changedAt: row.changed_at,
});

/** What sessions of a trigger are started with. */
export const termsOf = ({ task, repository, model }: TriggerDefinition): StartTerms => ({
  task,
  ...(repository === undefined ? {} : { repository }),
  ...(model === undefined ? {} : { model }),
});

/** A trigger that the person may see. @throws CodedError `not_found` */
export async function findTrigger(
  tx: Transaction,
  person: Person,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<TriggerRow> {
  const [row] = await tx.query<TriggerRow>(
    `SELECT ${triggerColumns} FROM triggers WHERE id = $1 AND ($2::text[] IS NULL OR project_id = ANY($2)) ${lock}`,
    [id, projectsSeenBy(person)],
  );
  if (row !== undefined) return row;
  throw new CodedError('not_found', `There is no trigger ${id} here. GET /v1/triggers lists them.`, {
    trigger: id,
  });
}

/** Triggers that the person may see, the newest first. */
export async function listTriggers(
  tx: Transaction,
  person: Person,
  project: string | null,
): Promise<TriggerRow[]> {
  return tx.query<TriggerRow>(
    `SELECT ${triggerColumns} FROM triggers WHERE ($1::text[] IS NULL OR project_id = ANY($1))
       AND ($2::text IS NULL OR project_id = $2) ORDER BY id DESC LIMIT 1000`,
    [projectsSeenBy(person), project],
  );
}
