import { randomUUID } from 'node:crypto';
import { request } from 'node:https';
import type { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { heartbeatAnswerSchema } from '@lemniscate/shared/protocol/server-status.ts';
import { protocolVersion } from '@lemniscate/shared/protocol/protocol-version.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { Faults, SimulationPlan, Talk } from './plan.ts';

/** An order that a server has taken, and when (`performance.now`). */
export interface TakenOrder {
  readonly server: string;
  readonly order: SessionOrder;
  readonly at: number;
}

/** What a server says to its dispatcher on a session, and how it reads the answer. */
export interface Said {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** @throws where its version cannot read it */
  readonly read: (answer: unknown) => void;
}

export interface SimulatedServerOptions {
  readonly name: string;
  readonly plan: SimulationPlan;
  readonly agent: Agent;
  /** Null while no dispatcher is known. */
  readonly dispatcherUrl: () => string | null;
  readonly drawFault: () => keyof Faults | null;
  readonly drawStartMs: () => number;
  readonly drawWorkMs: () => number;
  readonly onTaken: (order: TakenOrder) => void;
  readonly onFault: (what: string) => void;
  /** What it sends instead of its status: as an older or a newer version would. */
  readonly dressStatus: (status: ServerStatus) => object;
  /** How it reads orders: as its version does. */
  readonly readOrder: (body: unknown) => SessionOrder;
  /** How it reads the answer to a heartbeat, as its version does. */
  readonly readHeartbeat: (answer: unknown) => void;
  /** All that it says on a session, `running` first and its result last. */
  readonly saysOn: (order: SessionOrder) => readonly Said[];
  /** A session goes on from its order when this resolves. */
  readonly mayGoOn: () => Promise<void>;
}

type Given =
  | { readonly kind: 'cut' }
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown };

export interface SimulatedServer {
  readonly name: string;
  status(): ServerStatus;
  /** Calls to dispatchers that have no answer yet: heartbeats, news and results. */
  calling(): number;
  take(body: unknown): Given;
  remove(held: Held): void;
  startHeartbeats(afterMs: number): void;
  stop(): void;
}

/** What this version says on a session without any work: it runs, and it has finished without a diff. */
export function sayLittle(order: SessionOrder): readonly Said[] {
  const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
  const running = { type: 'running', driver: 'simulated', warm: true, timingsMs: {} };
  const events = [{ at: new Date().toISOString(), event: running }];
  const result = { reason: 'finished', message: 'Simulated.', diff: null, patch: null, timingsMs: {} };
  const read = (): undefined => undefined;
  return [
    { path: `${base}/events`, body: { firstSeq: 1, events }, read },
    { path: `${base}/result`, body: result, read },
  ];
}

/** One simulated agent server: it takes orders, reports `running`, works for a while and says the rest. */
export function createSimulatedServer(options: SimulatedServerOptions): SimulatedServer {
  const { name, plan } = options;
  const bootId = randomUUID();
  const held = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  const stopping = new AbortController();

  const later = (ms: number, work: () => void): void => {
    if (stopping.signal.aborted) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  const holds = (one: Held): boolean => held.get(one.sessionId) === one.attempt;
  const problem = (status: number, code: string, detail: string): Given => ({
    kind: 'answer',
    status,
    body: { type: `urn:lemniscate:error:${code}`, title: code, status, code, detail },
  });

  let calling = 0;
  const post = async (
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: unknown }> => {
    const url = options.dispatcherUrl();
    if (url === null) throw new Error('no dispatcher is known');
    const sent = JSON.stringify(body);
    calling += 1;
    return new Promise<{ status: number; body: unknown }>((settle, fail) => {
      const call = request(`${url}${path}`, {
        method: 'POST',
        agent: options.agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(sent),
          ...headers,
        },
        timeout: 10_000,
      });
      call.on('error', fail);
      call.on('timeout', () => call.destroy(new Error('no answer within 10 s')));
      call.on('response', (reply) => {
        text(reply).then(
          (answer) => settle({ status: reply.statusCode ?? 0, body: JSON.parse(answer) }),
          fail,
        );
      });
      call.end(sent);
    }).finally(() => {
      calling -= 1;
    });
  };
  /** Repeats until it is heard or the session is no longer ours, as the real journal does. */
  const insist = async (one: Held, { path, body, headers, read }: Said): Promise<boolean> => {
    for (let waitMs = 50; holds(one) && !stopping.signal.aborted; waitMs = Math.min(2_000, waitMs * 2)) {
      const answer = await post(path, body, headers).catch((error: unknown) => ({
        status: 0,
        body: String(error),
      }));
      if (answer.status === 200 || answer.status === 202 || answer.status === 204) {
        read(answer.body);
        return true;
      }
      if (answer.status === 409 || answer.status === 404) {
        held.delete(one.sessionId);
        return false;
      }
      options.onFault(
        `${name}: ${path} answered ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`,
      );
      await new Promise<void>((settle) => later(waitMs, settle));
    }
    return false;
  };
  const run = async (one: Held, [running, ...others]: readonly Said[]): Promise<void> => {
    if (running === undefined || !(await insist(one, running))) return;
    if (plan.talk !== undefined) talk(one, plan.talk, isLoud(plan.talk));
    later(options.drawWorkMs(), () => void finish(one, others));
  };
  const finish = async (one: Held, others: readonly Said[]): Promise<void> => {
    for (const said of others) if (!(await insist(one, said))) return;
    if (!holds(one)) return;
    held.delete(one.sessionId);
    await heartbeat();
  };
  let talkers = 0;
  const isLoud = ({ loudOneIn }: Talk): boolean => loudOneIn > 0 && talkers++ % loudOneIn === 0;
  /** Says something now and then as long as the session is here; the first word comes at a time of its own. */
  const talk = (one: Held, plan: Talk, loud: boolean): void => {
    const everyMs = loud ? plan.loudEveryMs : plan.everyMs;
    const padding = 'x'.repeat(loud ? plan.loudBytes : plan.bytes);
    const path = `/internal/sessions/${one.sessionId}/attempts/${one.attempt}/events`;
    const say = (seq: number): void => {
      if (!holds(one)) return;
      const event = { type: 'text', turn: 1, text: `${Date.now()} ${padding}` };
      const at = new Date().toISOString();
      const body = { firstSeq: seq, events: [{ at, event }] };
      void insist(one, { path, body, read: () => undefined }).then((heard) => {
        if (heard) later(everyMs, () => say(seq + 1));
      });
    };
    later((everyMs * (talkers % 97)) / 97, () => say(2));
  };
  const status = (): ServerStatus => ({
    protocol: protocolVersion,
    bootId,
    capacity: plan.capacity,
    held: [...held].map(([sessionId, attempt]) => ({ sessionId, attempt })),
    warm: Math.max(0, Math.min(2, plan.capacity - held.size)),
    driver: 'simulated',
    profiles: ['default'],
    draining: stopping.signal.aborted,
  });
  const heartbeat = async (): Promise<void> => {
    const answer = await post('/internal/servers/heartbeat', options.dressStatus(status())).catch(
      (error: unknown) => {
        options.onFault(`${name}: heartbeat: ${String(error)}`);
        return null;
      },
    );
    const parsed = heartbeatAnswerSchema.safeParse(answer?.body);
    if (!parsed.success) return;
    options.readHeartbeat(answer?.body);
    for (const stale of parsed.data.stale) if (holds(stale)) held.delete(stale.sessionId);
    for (const command of parsed.data.commands) if (holds(command)) held.delete(command.sessionId);
  };
  const beat = (): void => {
    void heartbeat().finally(() => later(plan.heartbeatMs, beat));
  };

  return {
    name,
    status,
    calling: () => calling,
    take: (body) => {
      const order = options.readOrder(body);
      const one = { sessionId: order.sessionId, attempt: order.attempt };
      if (holds(one)) return { kind: 'answer', status: 202, body: one };
      const fault = options.drawFault();
      if (fault === 'full' || held.size >= plan.capacity) return problem(429, 'server_full', 'no slot');
      if (fault === 'fail') return problem(500, 'internal', 'a simulated fault');
      held.set(one.sessionId, one.attempt);
      options.onTaken({ server: name, order, at: performance.now() });
      if (fault !== 'mute')
        later(
          options.drawStartMs(),
          () => void options.mayGoOn().then(async () => run(one, options.saysOn(order))),
        );
      return fault === 'cut' ? { kind: 'cut' } : { kind: 'answer', status: 202, body: one };
    },
    remove: (one) => {
      if (holds(one)) held.delete(one.sessionId);
    },
    startHeartbeats: (afterMs) => later(afterMs, beat),
    stop: () => {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
