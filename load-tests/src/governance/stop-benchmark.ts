import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { Benchmark } from '../benchmark.ts';
import { startBenchFleet } from './bench-fleet.ts';
import type { BenchFleet, ServiceCaller } from './bench-fleet.ts';

const rounds = 30;
/** To reach: from the request to the destroyed sandbox, 99 of a hundred, in whatever state the session is. */
const p99GoalMs = 1_000;

const serversSchema = z.object({
  servers: z.array(z.object({ id: z.string(), url: z.string().nullable() })),
});
const statusSchema = z.object({ held: z.array(z.object({ sessionId: z.string() })) });

/** How a session is brought to where it is stopped. */
interface Situation {
  readonly name: string;
  /** Once, before the first round; it stays so for what follows. */
  readonly prepare?: (site: BenchFleet) => Promise<unknown>;
  bring(site: BenchFleet, round: number): Promise<SessionView>;
}

const sleeping = 'run `sleep 3600`';

const situations: readonly Situation[] = [
  { name: 'right after it was opened', bring: (site) => site.open(sleeping) },
  {
    name: 'while it starts',
    bring: async (site, round) => {
      const session = await site.open(sleeping);
      const until = performance.now() + 3 * (round % 12);
      return site.until('some milliseconds', async () => (performance.now() > until ? session : undefined));
    },
  },
  {
    name: 'during a command that hangs',
    bring: async (site) => {
      const { id } = await site.open(sleeping);
      return site.until('the command runs', async () => {
        const calls = await site.client.json(
          `/v1/sessions/${id}/tool-calls`,
          z.object({ toolCalls: z.array(z.object({ state: z.string() })) }),
        );
        return calls.toolCalls.some(({ state }) => state === 'calling') ? site.session(id) : undefined;
      });
    },
  },
  {
    name: 'while it waits for an approval',
    bring: async (site) => waitingFor(site, await site.open('run `make`', { interactive: true }), 'waiting'),
  },
  {
    name: 'while it waits for its person',
    bring: async (site) =>
      waitingFor(
        site,
        await site.open('run `sleep 0`', { interactive: true, followUps: true }),
        'awaiting_message',
      ),
  },
  {
    name: 'after it was put away',
    bring: async (site) => {
      const { id } = await waitingFor(
        site,
        await site.open('run `sleep 0`', { interactive: true, followUps: true }),
        'awaiting_message',
      );
      await site.client.json(`/v1/sessions/${id}/pause`, z.unknown(), { method: 'POST', body: {} });
      return site.until('it is put away', async () => {
        const session = await site.session(id);
        return session.state === 'paused' && session.server === null ? session : undefined;
      });
    },
  },
  {
    name: 'while it is held in the queue',
    prepare: async (site) => {
      const path = '/v1/projects/bench/queue';
      const seen = await site.client.open(path);
      await seen.body?.cancel();
      return site.client.json(path, z.unknown(), {
        method: 'PUT',
        body: { maxConcurrent: 0 },
        headers: { 'if-match': seen.headers.get('etag') ?? '' },
      });
    },
    bring: (site) => site.open(sleeping),
  },
];

async function waitingFor(site: BenchFleet, { id }: SessionView, sign: string): Promise<SessionView> {
  return site.until(sign, async () => {
    const session = await site.session(id);
    return session.phase === sign || session.reason === sign ? session : undefined;
  });
}

/** One gesture: from the request to the sandbox that is seen gone by the server that had it. */
export const stopBenchmark: Benchmark = {
  name: 'stop',
  about:
    'stop to destroyed sandbox: just opened, starting, hanging in a command, waiting for a person, put away, queued',
  async run(io) {
    const site = await startBenchFleet(io, 'stop');
    const servers: ServiceCaller[] = [];
    try {
      const listed = await site.client.json('/v1/servers', serversSchema);
      for (const { url } of listed.servers)
        if (url !== null) servers.push(site.speakAs('dispatcher-local', url));
      const results = [];
      for (const { name, prepare, bring } of situations) {
        await prepare?.(site);
        const spans: number[] = [];
        for (let round = 0; round < rounds && !io.signal.aborted; round += 1) {
          const { id } = await bring(site, round);
          const from = performance.now();
          const ended = await site.client.json(`/v1/sessions/${id}/stop`, sessionViewSchema, {
            method: 'POST',
            body: {},
          });
          if (ended.state !== 'user_stopped') throw new Error(`session ${id} is ${ended.state}`);
          await site.until('no server holds it', async () =>
            (await Promise.all(servers.map((server) => holds(server, id)))).includes(true) ? undefined : true,
          );
          spans.push(Math.round(performance.now() - from));
        }
        const spread = distribution(`stop ${name}`, 'ms', spans);
        io.say(`${name}: p50 ${spread.p50}, p99 ${spread.p99} ms`);
        results.push(spread);
      }
      return {
        results,
        goals: results.map((spread) => goalAtMost(`${spread.name}, p99`, 'ms', p99GoalMs, spread.p99)),
      };
    } finally {
      for (const server of servers) server.close();
      await site.stop();
    }
  },
};

async function holds(server: ServiceCaller, sessionId: string): Promise<boolean> {
  const { body } = await server.call('GET', '/status');
  return statusSchema.parse(body).held.some((held) => held.sessionId === sessionId);
}
