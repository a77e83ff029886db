/**
 * What the parts of the fleet spend on one thing, in milliseconds of one core of an AMD EPYC (2026-11-29). Orders and the
 * rest of a session are measured (processor time by process while `bench dispatch` ran), a chunk is from `bench relay`;
 * tool calls, exchanges and heartbeats are reckoned by their statements, at the 0.17 ms that one cost Postgres there and
 * the 0.15 ms that it cost the dispatcher. They are the model's only numbers that are not the code's own.
 */
export const unitCosts = {
  /** From POST to the accepted order, `bench dispatch` with sessions that are held: processor time by process. */
  order: { dispatcher: 4.5, postgres: 4.9, redis: 0.5 },
  /** The rest of a session that does nothing: running, one batch of events, result, end. */
  rest: { dispatcher: 3.2, postgres: 4.0, redis: 0.3 },
  /** One permit with its events, `bench permit`. */
  toolCall: { dispatcher: 2.5, postgres: 2.8, redis: 0.1 },
  /** One heartbeat: five statements and one script. */
  heartbeat: { dispatcher: 0.8, postgres: 0.9, redis: 0.1 },
  /** One chunk of a model's stream through the gateway, `bench relay`. */
  chunk: { dispatcher: 0.035, postgres: 0, redis: 0 },
  /** One exchange: begun, settled. */
  exchange: { dispatcher: 2, postgres: 2.2, redis: 0.05 },
} as const;

/** What an ordinary session does. */
export const sessionProfile = { toolCalls: 25, exchanges: 27, chunksPerExchange: 150 } as const;

export type Part = 'dispatcher' | 'postgres' | 'redis';
export const parts = ['dispatcher', 'postgres', 'redis'] as const satisfies readonly Part[];

export interface Load {
  readonly sessionsPerSecond: number;
  readonly servers: number;
  /** Seconds between a server's heartbeats. */
  readonly heartbeatSeconds: number;
}

/** Cores that a part is busy with, by what for. */
export function coresOf(part: Part, { sessionsPerSecond, servers, heartbeatSeconds }: Load) {
  const { toolCalls, exchanges, chunksPerExchange } = sessionProfile;
  const each = (ms: number, perSession: number): number => (sessionsPerSecond * perSession * ms) / 1_000;
  return {
    orders: each(unitCosts.order[part] + unitCosts.rest[part], 1),
    'tool calls': each(unitCosts.toolCall[part], toolCalls),
    'model streams':
      each(unitCosts.exchange[part], exchanges) + each(unitCosts.chunk[part], exchanges * chunksPerExchange),
    heartbeats: ((servers / heartbeatSeconds) * unitCosts.heartbeat[part]) / 1_000,
  };
}

export function sumOf(cores: Readonly<Record<string, number>>): number {
  return Object.values(cores).reduce((sum, one) => sum + one, 0);
}

/** What one of it carries: processes of one core each, one Postgres, one thread of Redis. */
export const most = { dispatcher: 0.7, postgres: 0.6 * 32, redis: 0.7 } as const satisfies Readonly<
  Record<Part, number>
>;
