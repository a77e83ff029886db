import type { Clock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { Log } from '../ports/log.ts';
import type { NoticeOutcome, Notifiers } from '../ports/notifier.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { nextWait } from './backoff.ts';
import { definitionOfTarget, record, targetSecret } from './targets.ts';

export interface NoticeDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly credentials: CredentialStore;
  readonly notifiers: Notifiers;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly self: string;
}

/** How long a receiver may take. Milliseconds. */
const answerMs = 10_000;
/** Nobody else takes a message while it is under way. Seconds. */
const claimSeconds = 60;
/** Messages at once; one slow receiver holds up no more than these. */
const atOnce = 20;

interface DueRow extends Record<string, unknown> {
  readonly id: string;
  readonly target_id: string;
  readonly project_id: string;
  readonly type: string;
  readonly payload: { readonly data: Readonly<Record<string, JsonValue>> };
  readonly tries: number;
  readonly definition: unknown;
}

/**
 * Delivers what is due, each message by one dispatcher at a time. What fails is tried again later and later; a receiver
 * that wants nothing any more is put out of use.
 * @returns how many were tried
 */
export async function deliverNotices(deps: NoticeDeps): Promise<number> {
  const due = await deps.database.query<DueRow>(
    `UPDATE notices n SET tries = n.tries + 1, due_at = now() + interval '${claimSeconds} seconds'
     FROM notify_targets t
     WHERE t.id = n.target_id AND n.id IN (
       SELECT d.id FROM notices d JOIN notify_targets e ON e.id = d.target_id AND e.enabled
       WHERE d.state = 'pending' AND d.due_at <= now() ORDER BY d.due_at LIMIT ${atOnce} FOR UPDATE OF d SKIP LOCKED)
     RETURNING n.id, n.target_id, t.project_id, n.type, n.payload, n.tries, t.definition`,
  );
  await Promise.all(due.map((row) => deliverOne(deps, row)));
  return due.length;
}

async function deliverOne(deps: NoticeDeps, row: DueRow): Promise<void> {
  const began = deps.clock.monotonicMs();
  const outcome = await send(deps, row);
  const durationMs = Math.round(deps.clock.monotonicMs() - began);
  await deps.database.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO notice_attempts (notice_id, number, status, duration_ms, fault)
       SELECT $1, coalesce(max(number), 0) + 1, $2, $3, $4 FROM notice_attempts WHERE notice_id = $1`,
      [row.id, outcome.status, durationMs, outcome.ok ? null : outcome.fault.slice(0, 500)],
    );
    if (outcome.ok) {
      await tx.query(`UPDATE notices SET state = 'delivered', delivered_at = now() WHERE id = $1`, [row.id]);
      if (outcome.posted !== undefined) await nameComment(tx, row, outcome.posted);
      return;
    }
    const wait = outcome.gone === true ? null : nextWait(row.tries, outcome.retryAfterSeconds, deps.random);
    await tx.query(
      // what was erased meanwhile is not tried again
      `UPDATE notices SET state = CASE WHEN $2::float8 IS NULL OR payload -> 'data' = '{}' THEN 'failed' ELSE 'pending' END,
         due_at = now() + make_interval(secs => coalesce($2::float8, 0)) WHERE id = $1`,
      [row.id, wait],
    );
    if (outcome.gone !== true) return;
    const [gone] = await tx.query(
      `UPDATE notify_targets SET enabled = false, disabled_reason = 'gone', version = version + 1
       WHERE id = $1 AND enabled RETURNING id`,
      [row.target_id],
    );
    if (gone === undefined) return;
    const body = { target: row.target_id, project: row.project_id, reason: 'gone' };
    await record(deps, tx, row.project_id, { type: 'target.disabled', subject: deps.self, body });
  });
}

/** The comment has a name there now, by which it is known when that system's webhook tells of it. */
async function nameComment(
  tx: Transaction,
  { payload }: DueRow,
  { key, url }: { readonly key: string; readonly url: string | null },
): Promise<void> {
  await tx.query(
    `UPDATE object_comments c SET source_key = $2, url = coalesce(c.url, $3) WHERE c.id = $1 AND c.source_key IS NULL
       AND NOT EXISTS (SELECT FROM object_comments o WHERE o.object_id = c.object_id AND o.source_key = $2)`,
    [payload.data['comment'], key, url],
  );
}

/** Whatever goes wrong is an outcome: the log of deliveries is where people look. */
async function send(deps: NoticeDeps, row: DueRow): Promise<NoticeOutcome> {
  try {
    const { place } = definitionOfTarget(row);
    const owner = { kind: 'notify_target', id: row.target_id } as const;
    const secrets =
      place.kind === 'email' ? {} : await deps.credentials.open(deps.database, owner, [targetSecret]);
    const notice = {
      id: row.id,
      type: row.type,
      data: row.payload.data,
      body: JSON.stringify(row.payload),
    };
    const signal = AbortSignal.timeout(answerMs);
    const secret = secrets[targetSecret] ?? '';
    return await deps.notifiers[place.kind].send(notice, place, secret, deps.clock.now(), signal);
  } catch (error) {
    if (!isCodedError(error))
      deps.log.warn({ err: error, message: row.id }, 'a message could not be sent for a reason of ours');
    const fault = isCodedError(error) ? error.message : 'It could not be sent for a reason of ours.';
    return { ok: false, status: null, fault };
  }
}

/** How long the log of deliveries is kept. Days. */
const keptDays = 90;

export async function forgetNotices(database: Database): Promise<void> {
  await database.query(
    `DELETE FROM notices WHERE id IN (SELECT id FROM notices WHERE created_at < now() - interval '${keptDays} days'
       AND state <> 'pending' LIMIT 1000)`,
  );
}
