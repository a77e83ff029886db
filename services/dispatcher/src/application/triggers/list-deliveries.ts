import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import { projectsSeenBy } from '../identity.ts';
import type { Person } from '../identity.ts';
import { pageOf, readCursorOf } from '../objects/object-row.ts';
import type { Transaction } from '../ports/transaction.ts';

export interface DeliveryQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly project?: string | undefined;
  readonly state?: DeliveryView['state'] | undefined;
  readonly object?: string | undefined;
  readonly trigger?: string | undefined;
}

interface DeliveryRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly cause: string;
  readonly state: DeliveryView['state'];
  readonly reason: string | null;
  readonly message: string | null;
  readonly agent: string | null;
  readonly owner: string | null;
  readonly actor_kind: 'person' | 'agent' | 'external' | null;
  readonly acted_by: string | null;
  readonly trigger_id: string | null;
  readonly hook_id: string | null;
  readonly external_id: string | null;
  readonly object_id: string | null;
  readonly session_id: string | null;
  readonly created_at: string;
}

/** What asked for sessions, and what became of it, the newest first. */
export async function listDeliveries(
  tx: Transaction,
  person: Person,
  query: DeliveryQuery,
): Promise<{ deliveries: DeliveryView[]; nextCursor: string | null }> {
  const before = query.cursor === undefined ? null : readCursorOf(query.cursor, 'delivery');
  const found = await tx.query<DeliveryRow>(
    `SELECT id, project_id, cause, state, reason, message, agent, owner, actor_kind, acted_by, trigger_id, hook_id,
       external_id, object_id, session_id, created_at FROM deliveries
     WHERE ($1::text[] IS NULL OR project_id = ANY($1)) AND ($2::text IS NULL OR id < $2)
       AND ($3::text IS NULL OR project_id = $3) AND ($4::text IS NULL OR state = $4)
       AND ($5::text IS NULL OR object_id = $5) AND ($6::text IS NULL OR trigger_id = $6)
     ORDER BY id DESC LIMIT $7`,
    [
      projectsSeenBy(person),
      before,
      query.project ?? null,
      query.state ?? null,
      query.object ?? null,
      query.trigger ?? null,
      query.limit + 1,
    ],
  );
  const { rows, nextCursor } = pageOf(found, query.limit, ({ id }) => id);
  return { deliveries: rows.map(toView), nextCursor };
}

const toView = (row: DeliveryRow): DeliveryView => ({
  id: row.id,
  project: row.project_id,
  cause: row.cause,
  state: row.state,
  reason: row.reason,
  message: row.message,
  agent: row.agent,
  owner: row.owner,
  actor: row.actor_kind === null || row.acted_by === null ? null : { kind: row.actor_kind, id: row.acted_by },
  trigger: row.trigger_id,
  hook: row.hook_id,
  externalId: row.external_id,
  object: row.object_id,
  session: row.session_id,
  at: row.created_at,
});
