import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAuditLog, readCommitmentKey } from '../../adapters/postgres/audit-log.ts';
import { createDatabase } from '../../adapters/postgres/database.ts';
import type { PostgresDatabase } from '../../adapters/postgres/database.ts';
import { createEventLog } from '../../adapters/postgres/event-log.ts';
import { migrate } from '../../adapters/postgres/migrations.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import type { TestDatabase } from '../../testing/test-database.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionPhases, sessionStates, sessionTransitions } from '@lemniscate/shared/session/state.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { canTransition } from '@lemniscate/shared/transition-table.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { changeSessionState } from './change-state.ts';
import { endSession } from './end-session.ts';
import { lockSession } from './session-row.ts';

describe('state changes', () => {
  let own: TestDatabase;
  let database: PostgresDatabase;
  let events: EventLog;
  let audit: AuditLog;
  let made = 0;
  before(async () => {
    own = await createTestDatabase();
    await migrate(own.url, () => undefined);
    database = createDatabase({
      url: own.url,
      connections: 5,
      statementTimeoutMs: 5_000,
      onConnectionError: () => undefined,
    });
    events = createEventLog({
      clock: systemClock,
      live: { publish: () => undefined, subscribe: () => () => undefined },
    });
    audit = createAuditLog({ clock: systemClock, commitmentKey: await readCommitmentKey(database) });
    await database.query(`INSERT INTO projects (id, policy, policy_digest) VALUES ('local', '{}', 'd')`);
  });
  after(async () => {
    await database.close();
    await own.drop();
  });

  const sessionIn = async (state: SessionState): Promise<string> => {
    made += 1;
    const id = `s_${made}`;
    await database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface,
           interactive, execution, opened_by, policy, policy_digest)
         VALUES ($1, 'local', $2, $3, 'i', '{}', 'native', 'm', 'api', false, 'server', 'p', '{}', 'd')`,
        [id, state, sessionPhases[state][0]],
      );
      await audit.append(tx, sessionChain(id), [
        { type: 'session.opened', subject: 'p', body: { policyDigest: 'a'.repeat(64) } },
      ]);
    });
    return id;
  };

  for (const from of sessionStates)
    for (const to of sessionStates) {
      const allowed = canTransition(sessionTransitions, from, to);
      test(`${from} → ${to} is ${allowed ? 'a step with its event' : 'refused and leaves nothing'}`, async () => {
        const id = await sessionIn(from);
        const change = database.transaction(async (tx) => {
          const session = await lockSession(tx, id);
          return changeSessionState(events, tx, session, { to, phase: sessionPhases[to][0] });
        });
        if (allowed) assert.equal((await change).version, 2);
        else await assert.rejects(change, (error) => isCodedError(error, 'transition_refused'));
        const [row] = await database.query<{ state: string; version: number; told: number }>(
          `SELECT state, version, (SELECT count(*) FROM session_events WHERE session_id = id) AS told
           FROM sessions WHERE id = $1`,
          [id],
        );
        assert.deepEqual(
          { ...row },
          allowed ? { state: to, version: 2, told: 1 } : { state: from, version: 1, told: 0 },
        );
      });
    }

  test('whoever has seen an older version changes nothing', async () => {
    const id = await sessionIn('pending');
    const seen = await database.transaction((tx) => lockSession(tx, id));
    await database.transaction((tx) =>
      changeSessionState(events, tx, seen, { to: 'starting', phase: 'placing' }),
    );
    await assert.rejects(
      database.transaction((tx) => changeSessionState(events, tx, seen, { to: 'failed', phase: 'ended' })),
      (error) => isCodedError(error, 'conflict'),
    );
    const [row] = await database.query('SELECT state FROM sessions WHERE id = $1', [id]);
    assert.equal(row?.['state'], 'starting');
  });

  test('every reason ends a running session in its state, once, with a closed chain', async () => {
    for (const reason of Object.keys(sessionEnds) as EndReason[]) {
      const id = await sessionIn('running');
      const end = () =>
        database.transaction((tx) =>
          endSession({ audit, events, self: 'spiffe://x' }, tx, {
            sessionId: id,
            reason,
            message: 'because',
          }),
        );
      await end();
      await assert.rejects(end(), (error) => isCodedError(error, 'session_ended'));
      const [row] = await database.query(
        `SELECT state, reason, ended_at IS NOT NULL AS stamped,
          (SELECT closed FROM audit_chains WHERE chain = 'session:' || id) AS closed FROM sessions WHERE id = $1`,
        [id],
      );
      assert.deepEqual({ ...row }, { state: sessionEnds[reason].state, reason, stamped: true, closed: true });
    }
  });

  test('two ends at the same moment are one end', async () => {
    const id = await sessionIn('running');
    const ends = await Promise.allSettled(
      (['finished', 'stopped', 'server_lost', 'time_budget'] as const).map((reason) =>
        database.transaction((tx) =>
          endSession({ audit, events, self: 'spiffe://x' }, tx, { sessionId: id, reason, message: 'm' }),
        ),
      ),
    );
    assert.equal(ends.filter((end) => end.status === 'fulfilled').length, 1);
  });

  test('waiting approvals are withdrawn by automation with the end', async () => {
    const id = await sessionIn('running');
    await database.query(
      `INSERT INTO approvals (id, session_id, call_id, arguments_digest, policy_digest, tool, title, arguments, reasons,
         state, expires_at) VALUES ('apr_1', $1, 'c1', 'a', 'd', 'run_command', 't', '{}', '[]', 'waiting', now())`,
      [id],
    );
    await database.transaction((tx) =>
      endSession({ audit, events, self: 'spiffe://x' }, tx, {
        sessionId: id,
        reason: 'stopped',
        message: 'm',
      }),
    );
    const [row] = await database.query(`SELECT state, decided_by FROM approvals WHERE id = 'apr_1'`);
    assert.deepEqual({ ...row }, { state: 'withdrawn', decided_by: 'automation' });
  });

  test('a statement that comes after its transaction goes nowhere', async () => {
    let leaked: ((text: string) => Promise<unknown>) | undefined;
    await database.transaction(async (tx) => {
      leaked = (text) => tx.query(text);
      await tx.query('SELECT 1');
    });
    await assert.rejects(async () => leaked?.('SELECT 1'), /has ended/);
  });

  test('the application cannot change what is append-only', async () => {
    await sessionIn('pending');
    await assert.rejects(
      database.query(`UPDATE audit_entries SET type = 'x'`),
      /permission denied|append-only/i,
    );
    const [row] = await database.query('SELECT current_user AS user');
    assert.equal(row?.['user'], 'lemniscate_app');
  });
});
