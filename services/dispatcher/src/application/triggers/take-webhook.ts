import { createHash } from 'node:crypto';
import type { Refusal } from '@lemniscate/shared/api/delivery.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { FindPerson } from '../access/known-person.ts';
import { someText } from '../json-walk.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { refuse } from './delivery.ts';
import type { DeliveryDeps } from './delivery.ts';
import { hookSecret, readHook, unknownHook } from './hooks.ts';
import type { HookRow } from './hooks.ts';
import { takeReceipt } from './receipts.ts';
import { sources } from './sources/registry.ts';
import type { RawDelivery } from './sources/webhook-source.ts';
import { takeHappening } from './take-happening.ts';

export interface WebhookDeps extends DeliveryDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly signals: Signals;
  readonly credentials: CredentialStore;
  readonly findPerson: FindPerson;
}

/** What the sender is told. */
export type WebhookAnswer =
  | { readonly state: 'taken'; readonly deliveries?: number }
  | { readonly state: 'duplicate' }
  | { readonly state: 'ignored'; readonly why: string }
  | { readonly state: 'refused'; readonly reason: string }
  | { readonly state: 'challenge'; readonly challenge: Readonly<Record<string, string>> };

/**
 * Takes what another system has sent, after its signature was checked over the very bytes, and once: neither the same id
 * nor the same bytes are taken again. Whatever is refused is on record with its reason, within a bound for each hook.
 * @throws CodedError `not_found` for no hook, `unauthenticated` where the signature does not fit
 */
export async function takeWebhook(
  deps: WebhookDeps,
  hookId: string,
  delivery: RawDelivery,
): Promise<WebhookAnswer> {
  const hook = await readHook(deps.database, hookId);
  if (hook === null) throw unknownHook(hookId);
  const source = sources[hook.source];
  const secrets = await deps.credentials.open(deps.database, { kind: 'hook', id: hook.id }, [hookSecret]);
  const verified = source.verify(delivery, secrets[hookSecret] ?? '', deps.clock.now());
  if (!verified.ok) {
    await noteRefusal(deps, hook, verified.reason, verified.message, null);
    throw new CodedError('unauthenticated', verified.message, { hook: hook.id });
  }
  const body = parse(delivery.body);
  if (body === null) {
    const why = 'The body is no JSON that can be read. Set the content type of the hook to application/json.';
    await noteRefusal(deps, hook, 'unreadable', why, null);
    throw new CodedError('request_invalid', why, { hook: hook.id });
  }
  const read = source.read(delivery, body);
  if (read.kind === 'challenge') return { state: 'challenge', challenge: read.answer };
  if (read.kind === 'ignored') return { state: 'ignored', why: read.why };
  const externalId = source.deliveryId(delivery, body)?.slice(0, 256) ?? null;
  if (!hook.enabled) {
    const why = `This hook is out of use (${hook.disabled_reason ?? 'its definition says so'}).`;
    await noteRefusal(deps, hook, 'trigger_disabled', why, externalId);
    return { state: 'refused', reason: 'trigger_disabled' };
  }
  const digest = createHash('sha256').update(delivery.body).digest('hex');
  const taken = await deps.database.transaction(async (tx) => {
    const receipt = { origin: `hook:${hook.id}`, externalId: externalId ?? digest, digest };
    if (!(await takeReceipt(tx, receipt))) return false;
    for (const happening of read.happenings) await takeHappening(deps, tx, hook, happening, externalId);
    return true;
  });
  if (!taken) {
    await noteRefusal(deps, hook, 'duplicate', 'The same id or the same bytes have come before.', externalId);
    return { state: 'duplicate' };
  }
  deps.signals.send('wishes', undefined);
  return { state: 'taken' };
}

/** The document; null for what is none, or holds text that the record cannot keep. */
function parse(body: Buffer): JsonValue | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof value !== 'object' || value === null) return null;
    return someText(value, (text) => text.includes('\0') || !text.isWellFormed())
      ? null
      : (value as JsonValue);
  } catch {
    // no JSON, or no UTF-8: the caller says so
    return null;
  }
}

/** Refusals of one hook that are written down within a minute: whoever guesses signatures must not fill the record. */
const notedPerMinute = 20;

async function noteRefusal(
  deps: WebhookDeps,
  hook: HookRow,
  reason: Refusal,
  message: string,
  externalId: string | null,
): Promise<void> {
  await deps.database.transaction(async (tx: Transaction) => {
    const [row] = await tx.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM deliveries WHERE hook_id = $1 AND state = 'refused'
         AND created_at > now() - interval '1 minute'`,
      [hook.id],
    );
    if ((row?.n ?? 0) >= notedPerMinute) return;
    await refuse(
      deps,
      tx,
      {
        project: hook.project_id,
        cause: 'event',
        actor: { kind: 'external', id: `${hook.source}:unknown`, member: null },
        owner: hook.owner,
        hook: hook.id,
        ...(externalId === null ? {} : { externalId }),
      },
      reason,
      message,
    );
  });
}
