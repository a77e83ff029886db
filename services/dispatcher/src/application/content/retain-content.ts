import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { ContentPart } from '@lemniscate/shared/api/retention.ts';
import { appendToReview } from '../audit/append-about-session.ts';
import { readEvents } from '../events/read-events.ts';
import type { Segments } from '../events/segments.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ContentKeys } from '../ports/content-keys.ts';
import type { Log } from '../ports/log.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { seal } from './envelope.ts';
import { sessionKey } from './session-key.ts';

export interface RetainDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly objects: ObjectStore;
  readonly segments: Segments;
  readonly contentKeys: ContentKeys | null;
  readonly log: Log;
  readonly self: string;
}

/** A session whose content is to be retained. */
interface EndedSession extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly instruction: string;
  readonly until: string;
}

/** Sessions of one pass; the next takes the rest. */
const atOnce = 5;
/** Plain bytes of a part, about. */
const partBytes = 4 * 1024 * 1024;

/** What the bytes of a part are bound to. */
export const partName = (session: string, part: number): string => `content ${session} ${part}`;

/** Where a part lies: below a prefix of its own, so that the bucket can give it a lifetime and rights of its own. */
export const contentKey = (project: string, session: string, part: number): string =>
  `content/${encodeURIComponent(project).replaceAll('.', '%2E')}/${session}/${part}`;

/**
 * Retains the content of sessions that have ended since their project wanted it: gathered, packed, encrypted under a key
 * of their own, and told in the log by the digests of what lies in the bucket.
 * @returns how many sessions
 */
export async function retainContent(deps: RetainDeps): Promise<number> {
  const { contentKeys } = deps;
  if (contentKeys === null) return 0;
  const sessions = await deps.database.query<EndedSession>(
    `SELECT s.id, s.project_id, s.instruction,
       (now() + make_interval(days => (r.rules ->> 'content')::int)) AS until
     FROM sessions s JOIN project_retention r USING (project_id)
     WHERE r.rules ->> 'content' IS NOT NULL AND s.ended_at >= r.changed_at AND s.erased_at IS NULL
       AND NOT EXISTS (SELECT FROM retained_content c WHERE c.session_id = s.id)
       AND NOT EXISTS (SELECT FROM content_keys k WHERE k.shredded_at IS NOT NULL
         AND ((k.scope = 'session' AND k.of_id = s.id) OR (k.scope = 'project' AND k.of_id = s.project_id)))
     ORDER BY s.ended_at LIMIT ${atOnce}`,
  );
  for (const session of sessions) await retain(deps, contentKeys, session);
  return sessions.length;
}

async function retain(deps: RetainDeps, keys: ContentKeys, session: EndedSession): Promise<void> {
  const key = await deps.database.transaction((tx) => sessionKey(tx, keys, session));
  const parts: { key: string; sha256: string; bytes: number }[] = [];
  for await (const part of partsOf(deps, session)) {
    const number = parts.length;
    const packed = gzipSync(Buffer.from(JSON.stringify(part)));
    const sealed = seal(key, partName(session.id, number), packed);
    const place = contentKey(session.project_id, session.id, number);
    // the same key again after a crash: nothing refers to what lay there before
    await deps.objects.put(place, sealed);
    const sha256 = createHash('sha256').update(sealed).digest('hex');
    parts.push({ key: place, sha256, bytes: sealed.length });
  }
  await deps.database.transaction((tx) => write(deps, tx, session, parts));
}

async function write(
  deps: RetainDeps,
  tx: Transaction,
  session: EndedSession,
  parts: readonly { key: string; sha256: string; bytes: number }[],
): Promise<void> {
  // an erasure that came in between wins
  const [still] = await tx.query('SELECT FROM sessions WHERE id = $1 AND erased_at IS NULL FOR UPDATE', [
    session.id,
  ]);
  if (still === undefined) {
    await tx.query('INSERT INTO object_removals (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
      parts.map(({ key }) => key),
    ]);
    return;
  }
  const added = await tx.query(
    `INSERT INTO retained_content (session_id, part, project_id, object_key, sha256, bytes, expires_at)
     SELECT $1, p.part - 1, $2, p.key, p.sha256, p.bytes, $6
     FROM unnest($3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY AS p (key, sha256, bytes, part)
     ON CONFLICT DO NOTHING RETURNING part`,
    [
      session.id,
      session.project_id,
      parts.map(({ key }) => key),
      parts.map(({ sha256 }) => sha256),
      parts.map(({ bytes }) => bytes),
      session.until,
    ],
  );
  if (added.length === 0) return;
  await appendToReview(deps.audit, tx, session, [
    {
      type: 'content.retained',
      subject: deps.self,
      body: {
        parts: parts.length,
        sha256: parts.slice(0, 200).map(({ sha256 }) => sha256),
        until: session.until,
      },
    },
  ]);
}

async function* partsOf(deps: RetainDeps, session: EndedSession): AsyncGenerator<ContentPart> {
  yield await headOf(deps.database, session);
  let events: NonNullable<ContentPart['events']> = [];
  let bytes = 0;
  for (let after = 0; ;) {
    const page = await readEvents(deps.database, session.id, { after });
    for (const { position, event, segmentKey } of page.events) {
      after = position;
      const whole = event ?? (segmentKey === null ? null : await deps.segments.load(segmentKey));
      if (whole === null) continue;
      events.push(whole);
      bytes += JSON.stringify(whole).length;
      if (bytes < partBytes) continue;
      yield { events };
      events = [];
      bytes = 0;
    }
    if (page.events.length === 0) break;
  }
  if (events.length > 0) yield { events };
}

async function headOf(tx: Transaction, session: EndedSession): Promise<ContentPart> {
  const messages = await tx.query<{ number: number; text: string }>(
    'SELECT number, text FROM session_messages WHERE session_id = $1 AND text IS NOT NULL ORDER BY number',
    [session.id],
  );
  const approvals = await tx.query<{ call: string; arguments: never }>(
    'SELECT call_id AS call, arguments FROM approvals WHERE session_id = $1 ORDER BY created_at',
    [session.id],
  );
  const [diff] = await tx.query<{ patch: Buffer | null }>('SELECT patch FROM diffs WHERE session_id = $1', [
    session.id,
  ]);
  const patch = diff?.patch?.toString('base64') ?? null;
  return { instruction: session.instruction, messages, approvals, patch };
}
