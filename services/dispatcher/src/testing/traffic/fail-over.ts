import type { AttemptClaim } from '../../application/events/live-attempt.ts';
import type { AgentServers } from '../../application/ports/agent-servers.ts';
import { loseAttempt } from '../../application/recovery/lose-attempt.ts';
import type { TestRecord } from './record.ts';

const servers: AgentServers = {
  place: () => Promise.resolve({ kind: 'taken' }),
  destroy: () => undefined,
  pause: () => undefined,
  interrupt: () => Promise.resolve(),
};

/** The attempt is lost with its server's lease, and the next one runs, as placement and a start would have left it. */
export async function failOver(record: TestRecord, claim: AttemptClaim): Promise<AttemptClaim> {
  const attempt = claim.attempt + 1;
  await loseAttempt({ ...record, servers, maxLosses: 3 }, { ...claim, why: 'lease_expired' });
  await record.database.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('attempt', $2::int, 'state', 'live',
         'ended_at', null, 'relay_token_hash', md5(random()::text)))).*
       FROM attempts a WHERE session_id = $1 AND attempt = $2 - 1`,
      [claim.sessionId, attempt],
    );
    await tx.query(
      `UPDATE sessions SET attempt = $2, state = 'running', phase = 'working', server_id = $3 WHERE id = $1`,
      [claim.sessionId, attempt, claim.serverId],
    );
    await tx.query('UPDATE session_pauses SET until = now() WHERE session_id = $1 AND until IS NULL', [
      claim.sessionId,
    ]);
  });
  return { ...claim, attempt };
}
