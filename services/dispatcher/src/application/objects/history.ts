import type { z } from 'zod';
import type { objectActSchema } from '@lemniscate/shared/api/object.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Actor } from './actor.ts';
import { pageOf, readCursorOf } from './object-row.ts';

/** Writes down what was done to an object, in the transaction that does it. */
export async function recordAct(
  tx: Transaction,
  object: string,
  actor: Actor,
  act: string,
  detail: Readonly<Record<string, JsonValue>> = {},
): Promise<void> {
  await tx.query(
    `INSERT INTO object_history (object_id, act, actor_kind, acted_by, session_id, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
    [object, act, actor.kind, actor.id, actor.session ?? null, JSON.stringify(detail)],
  );
}

type Act = z.infer<typeof objectActSchema>;

interface ActRow extends Record<string, unknown> {
  readonly id: string;
  readonly at: string;
  readonly act: string;
  readonly actor_kind: Act['by']['kind'];
  readonly acted_by: string;
  readonly session_id: string | null;
  readonly detail: Act['detail'];
}

/** A page of an object's history, the newest act first. */
export async function readHistory(
  tx: Transaction,
  object: string,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
): Promise<{ acts: Act[]; nextCursor: string | null }> {
  const before = cursor === undefined ? null : readCursorOf(cursor, 'number');
  const found = await tx.query<ActRow>(
    `SELECT id::text, at, act, actor_kind, acted_by, session_id, detail FROM object_history
     WHERE object_id = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY object_history.id DESC LIMIT $3`,
    [object, before, limit + 1],
  );
  const { rows, nextCursor } = pageOf(found, limit, ({ id }) => id);
  const acts = rows.map((row) => ({
    at: row.at,
    act: row.act,
    by: { kind: row.actor_kind, id: row.acted_by },
    session: row.session_id,
    detail: row.detail,
  }));
  return { acts, nextCursor };
}
