import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { loseClosed } from './lose-closed.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const destroyed: unknown[] = [];
const servers: AgentServers = {
  place: () => Promise.resolve({ kind: 'taken' }),
  destroy: (serverId, held) => void destroyed.push({ serverId, ...held }),
  pause: () => undefined,
  interrupt: () => Promise.resolve(),
};
const look = (maxLosses = 2) => loseClosed({ ...record, servers, maxLosses });

/** The fault itself: nothing in the code does this any more. */
async function closeBelow(sessionId: string, state = 'lost'): Promise<void> {
  await record.database.query('UPDATE attempts SET state = $2, ended_at = now() WHERE session_id = $1', [
    sessionId,
    state,
  ]);
}

async function standingOf(sessionId: string): Promise<unknown> {
  const [row] = await record.database.query(
    `SELECT state, phase, generation, losses, server_id, reason,
       (SELECT count(*)::int FROM outbox WHERE session_id = sessions.id) AS queued FROM sessions WHERE id = $1`,
    [sessionId],
  );
  return row;
}

for (const state of ['starting', 'running'] as const)
  test(`a session that is ${state} while its attempt is closed goes on with another, once`, async () => {
    const { sessionId } = await openTestSession(record, { state });
    assert.equal(await look(), 0, 'its attempt is alive');
    await closeBelow(sessionId, state === 'running' ? 'lost' : 'refused');
    assert.equal(await look(), 1);
    assert.deepEqual(await standingOf(sessionId), {
      state: 'pending',
      phase: 'queued',
      generation: 2,
      losses: 1,
      server_id: null,
      reason: null,
      queued: 1,
    });
    const [lost] = (await chainEntries(record, sessionChain(sessionId))).filter(
      ({ type }) => type === 'attempt.lost',
    );
    assert.equal(lost?.body['why'], 'closed');
    assert.deepEqual(destroyed.splice(0), [{ serverId: 'server-a', sessionId, attempt: 1 }]);
    assert.equal(await look(), 0);
  });

test('one that has lost as many attempts as it may ends', async () => {
  const { sessionId } = await openTestSession(record);
  await closeBelow(sessionId);
  assert.equal(await look(0), 1);
  assert.deepEqual(await standingOf(sessionId), {
    state: 'failed',
    phase: 'ended',
    generation: 1,
    losses: 0,
    server_id: 'server-a',
    reason: 'server_lost',
    queued: 0,
  });
});

test('one that is paused has a closed attempt by right', async () => {
  const { sessionId } = await openTestSession(record);
  await closeBelow(sessionId, 'ended');
  await record.database.query(
    `UPDATE sessions SET state = 'paused', phase = 'stored', reason = 'by_person' WHERE id = $1`,
    [sessionId],
  );
  assert.equal(await look(), 0);
});
