import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { policySchema } from '@lemniscate/shared/policy/policy.ts';
import type { PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import type { AttemptClaim } from '../../application/events/live-attempt.ts';
import type { TestRecord } from './record.ts';

export interface TestSessionOptions {
  readonly state?: 'starting' | 'running';
  readonly interactive?: boolean;
  readonly surface?: 'terminal' | 'ide' | 'api';
  readonly policy?: PolicyInput;
  readonly relayTokenHash?: string;
  readonly model?: string;
  /** Variables that the session's agent has credentials for. */
  readonly credentials?: readonly string[];
}

/** Puts a placed session into the record, as the control side would have left it: attempt 1, live on `server-a`. */
export async function openTestSession(
  record: Pick<TestRecord, 'database' | 'audit' | 'newId' | 'self'>,
  options: TestSessionOptions = {},
): Promise<AttemptClaim> {
  const sessionId = record.newId('session');
  const policy = JSON.stringify(policySchema.parse(options.policy ?? {}));
  await record.database.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO projects (id, policy, policy_digest) VALUES ('local', '{}', $1) ON CONFLICT DO NOTHING`,
      ['0'.repeat(64)],
    );
    await tx.query(
      `INSERT INTO sessions (id, project_id, state, phase, attempt, server_id, instruction, repository, runtime, model,
         surface, interactive, execution, opened_by, policy, policy_digest, agent_definition, running_at)
       VALUES ($1, 'local', $2, $3, 1, 'server-a', 'do it', '{"kind":"path","path":"/r"}', 'native', $4, $5, $6,
         'server', 'person-1', $7, $8, $9, CASE WHEN $2 = 'running' THEN now() END)`,
      [
        sessionId,
        options.state ?? 'running',
        options.state === 'starting' ? 'booting' : 'working',
        options.model ?? 'scripted-1',
        options.surface ?? 'api',
        options.interactive ?? false,
        policy,
        '1'.repeat(64),
        JSON.stringify({
          credentials: (options.credentials ?? []).map((name) => ({ name, reference: `vault:${name}` })),
        }),
      ],
    );
    await tx.query(
      `INSERT INTO attempts (session_id, attempt, server_id, state, relay_token_hash, lease_expires_at, start_deadline)
       VALUES ($1, 1, 'server-a', 'live', $2, now() + interval '1 hour', now() + interval '1 hour')`,
      [sessionId, options.relayTokenHash ?? ''],
    );
    await record.audit.append(tx, sessionChain(sessionId), [
      { type: 'session.opened', subject: 'person-1', body: { policyDigest: '1'.repeat(64) } },
    ]);
  });
  return { sessionId, attempt: 1, serverId: 'server-a' };
}

/** The types and bodies of a chain's entries, in order, with the directory's identities in the place of pseudonyms. */
export async function chainEntries(
  record: Pick<TestRecord, 'database'>,
  chain: string,
): Promise<{ type: string; subject: string; body: Record<string, unknown> }[]> {
  const rows = await record.database.query<{ type: string; body: Buffer }>(
    'SELECT type, body FROM audit_entries WHERE chain = $1 ORDER BY seq',
    [chain],
  );
  const people = await record.database.query<{ pseudonym: string; identity: string }>(
    'SELECT pseudonym, identity FROM audit_people WHERE identity IS NOT NULL',
  );
  const named = new Map(people.map(({ pseudonym, identity }) => [pseudonym, identity]));
  return rows.map(({ type, body }) => {
    const text = body
      .toString('utf8')
      .replaceAll(/"(person:[0-9a-f]{24})"/g, (quoted, pseudonym: string) =>
        JSON.stringify(named.get(pseudonym) ?? pseudonym),
      );
    const envelope: unknown = JSON.parse(text);
    const { subject, body: inner } = envelope as { subject: string; body: Record<string, unknown> };
    return { type, subject, body: inner };
  });
}
