import { carriers } from '@lemniscate/shared/api/notify.ts';
import type { NoticeType } from '@lemniscate/shared/api/notify.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { Transaction } from '../ports/transaction.ts';

/** SQL for a time as messages have it. */
const now = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Something that targets may want to know. */
export interface Notice {
  /** Null: of no project; only targets of the whole fleet are told. */
  readonly project: string | null;
  readonly type: NoticeType;
  readonly data: Readonly<Record<string, JsonValue>>;
  /** Names the thing: a target is told of it once. */
  readonly about: string;
  /** An agent's comment on the picture of a thing in this system, to which it is carried. */
  readonly carriedTo?: string;
}

const carrierKinds = Object.values(carriers)
  .map((kind) => `'${kind}'`)
  .join(', ');

/** Writes a message for every target that wants it, in the transaction in which it happened. */
export async function tellTargets(tx: Transaction, notice: Notice): Promise<void> {
  await tx.query(
    `INSERT INTO notices (target_id, type, payload, about)
     SELECT id, $2, jsonb_build_object('type', $2::text, 'timestamp', ${now}, 'data', $3::jsonb), $4
     FROM notify_targets WHERE enabled AND project_id IN ('${everyProject}', $1) AND definition -> 'events' ? $2
       AND (definition -> 'place' ->> 'kind' NOT IN (${carrierKinds}) OR definition -> 'place' ->> 'kind' = $5)
     ON CONFLICT (target_id, about) DO NOTHING`,
    [
      notice.project ?? everyProject,
      notice.type,
      JSON.stringify(notice.data),
      notice.about,
      carriers[notice.carriedTo ?? ''] ?? null,
    ],
  );
}

/** The same for the states that sessions have just come to; sent along with the change itself. */
export async function tellStates(tx: Transaction, sessions: readonly string[]): Promise<void> {
  await tx.query(
    `INSERT INTO notices (target_id, type, payload, about)
     SELECT t.id, 'session.state_changed', jsonb_build_object('type', 'session.state_changed', 'timestamp', ${now}, 'data',
       jsonb_build_object('session', s.id, 'project', s.project_id, 'agent', s.agent, 'state', s.state, 'phase', s.phase,
         'reason', s.reason, 'object', s.object_id, 'version', s.version)), 'state:' || s.id || ':' || s.version
     FROM notify_targets t JOIN sessions s ON s.id = ANY ($1) AND t.project_id IN ('${everyProject}', s.project_id)
     WHERE t.enabled AND t.definition -> 'events' ? 'session.state_changed'
       -- asked once and first: mostly nobody wants to know, and then no session is read
       AND EXISTS (SELECT FROM notify_targets WHERE enabled AND definition -> 'events' ? 'session.state_changed')
     ON CONFLICT (target_id, about) DO NOTHING`,
    [sessions],
  );
}
