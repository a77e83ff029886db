import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { serverFault } from '@lemniscate/dispatcher/application/servers/server-fault.ts';
import { listServers } from '@lemniscate/dispatcher/application/servers/server-row.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { createLogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import type { HistoryEvent } from './history.ts';
import type { ProvidedAnswer } from './provider.ts';
import type { ChaosStage } from './stage.ts';

/** A session as the record has it at the end. */
export interface SeenSession {
  readonly id: string;
  readonly key: string | null;
  readonly project: string;
  readonly instruction: string;
  readonly state: SessionState;
  readonly reason: string | null;
  readonly attempts: number;
  readonly losses: number;
  readonly failures: number;
  readonly stopReason: string | null;
  /** The patch that is offered, as text; null where there is none. */
  readonly patch: string | null;
  /** States of its `state` events, in order. */
  readonly states: readonly SessionState[];
  /** Attempts of its events, in order of their positions; without usage, which is settled when its attempt may be over. */
  readonly eventAttempts: readonly number[];
  readonly positionsAreDense: boolean;
  readonly liveAttempts: number;
  readonly chainIsClosed: boolean;
}

/** A usage row. */
export interface SeenUsage {
  readonly session: string;
  readonly seed: number;
  readonly state: string;
  readonly responseId: string | null;
  readonly complete: boolean | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** An agent server, after everything has ended. */
export interface SeenServer {
  readonly server: string;
  /** Slots that the ledger counts as taken; null: the ledger does not know it. */
  readonly taken: number | null;
  /** Sessions that it says it has. */
  readonly held: number;
  /** Why it is out of the rotation; null: it is in. */
  readonly fault: string | null;
}

/** Everything that the invariants are held against. */
export interface Evidence {
  readonly history: readonly HistoryEvent[];
  readonly sessions: readonly SeenSession[];
  readonly usage: readonly SeenUsage[];
  readonly provided: readonly ProvidedAnswer[];
  readonly servers: readonly SeenServer[];
  readonly queuedJobs: number;
  readonly audit: {
    /** What the verifier says of the sink's file; null: whole. */
    readonly fault: string | null;
    /** Chains whose end in the sink is not the one in the record. */
    readonly behind: readonly string[];
  };
}

type Row = Record<string, unknown>;

export async function gatherEvidence(stage: ChaosStage, history: readonly HistoryEvent[]): Promise<Evidence> {
  return {
    history,
    sessions: await readSessions(stage),
    usage: await readUsage(stage),
    provided: stage.provider.answers,
    ...(await readLedger(stage)),
    audit: await readAudit(stage),
  };
}

async function readSessions({ database }: ChaosStage): Promise<SeenSession[]> {
  const rows = await database.query<
    Row &
      Omit<SeenSession, 'patch' | 'positionsAreDense'> & { patch: Buffer | null; first: number; last: number }
  >(
    `SELECT s.id, k.key, s.project_id AS project, s.instruction, s.state, s.reason, s.attempt AS attempts, s.losses,
       (SELECT count(*)::int FROM attempts a WHERE a.session_id = s.id AND a.state IN ('refused', 'lost')) AS failures,
       s.stop_reason AS "stopReason", d.patch, e.states, e.attempts AS "eventAttempts", e.first, e.last,
       (SELECT count(*)::int FROM attempts a WHERE a.session_id = s.id AND a.state = 'live') AS "liveAttempts",
       coalesce(c.closed, false) AS "chainIsClosed"
     FROM sessions s LEFT JOIN idempotency_keys k ON k.session_id = s.id LEFT JOIN diffs d ON d.session_id = s.id
     LEFT JOIN audit_chains c ON c.chain = 'session:' || s.id
     CROSS JOIN LATERAL (
       SELECT coalesce(json_agg(event ->> 'state' ORDER BY position) FILTER (WHERE type = 'state'), '[]') AS states,
         coalesce(json_agg(attempt ORDER BY position) FILTER (WHERE type <> 'usage'), '[]') AS attempts, min(position)::int AS first,
         (max(position) - count(*))::int AS last
       FROM session_events WHERE session_id = s.id) e
     ORDER BY s.id`,
  );
  return rows.map(({ patch, first, last, ...row }) => ({
    ...row,
    patch: patch === null ? null : patch.toString('utf8'),
    positionsAreDense: first === 1 && last === 0,
  }));
}

async function readUsage({ database }: ChaosStage): Promise<SeenUsage[]> {
  return database.query<Row & SeenUsage>(
    `SELECT u.session_id AS session, u.state, u.response_id AS "responseId", u.complete,
       u.input_tokens::int AS "inputTokens", u.output_tokens::int AS "outputTokens",
       substring(s.instruction FROM 'seed=([0-9]+)')::int AS seed
     FROM usage u JOIN sessions s ON s.id = u.session_id`,
  );
}

async function readLedger(stage: ChaosStage): Promise<Pick<Evidence, 'servers' | 'queuedJobs'>> {
  const said = await listServers(stage.database);
  const redis = connectRedis(new URL(stage.redis.url()), () => undefined);
  try {
    const counts = await redis.hgetall('{lemniscate:placement}:counts');
    const queues = ['placement-default', 'placement-real'].flatMap((queue) =>
      ['wait', 'active'].map((list) => `lemniscate:${queue}:${list}`),
    );
    const lengths = await Promise.all(queues.map((list) => redis.llen(list)));
    return {
      servers: said.map((row) => {
        const taken = counts[row.id];
        return {
          server: row.id,
          held: row.status?.held.length ?? 0,
          taken: taken === undefined ? null : Number(taken),
          fault: serverFault(row),
        };
      }),
      queuedJobs: lengths.reduce((sum, length) => sum + length, 0),
    };
  } finally {
    await closeRedis(redis, 500);
  }
}

async function readAudit(stage: ChaosStage): Promise<Evidence['audit']> {
  const verifier = createLogVerifier();
  const text = readFileSync(join(stage.sinkFolder, 'entries.ndjson'), 'utf8');
  let fault: string | null = null;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const parsed = sinkLineSchema.safeParse(JSON.parse(line));
    // Checkpoints of the log have lines of another shape between the entries.
    if (!parsed.success) continue;
    const found = verifier.push(parsed.data);
    if (found !== null) fault ??= JSON.stringify(found);
  }
  const ends = verifier.ends();
  const heads = await stage.database.query<{ chain: string; seq: number; digest: string }>(
    `SELECT chain, head_seq AS seq, encode(head_digest, 'hex') AS digest FROM audit_chains WHERE head_seq > 0`,
  );
  const behind = heads
    .filter(({ chain, seq, digest }) => ends.get(chain)?.seq !== seq || ends.get(chain)?.digest !== digest)
    .map(({ chain }) => chain);
  return { fault, behind };
}
