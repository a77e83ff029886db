import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { Benchmark } from '../benchmark.ts';
import { startBenchFleet } from './bench-fleet.ts';

/** Until the dispatcher's code has been compiled for speed. */
const warmUpRounds = 300;
const rounds = 1_000;
/** To reach: the whole way of a permit over HTTPS on an idle local fleet. */
const p50Goal = 5;

/** What a tool call waits for before it runs: one transaction with proposal and decision, over mutual TLS. */
export const permitBenchmark: Benchmark = {
  name: 'permit',
  about: 'a permit over HTTPS on an idle local fleet: a free file read, and a command that is judged',
  async run(io) {
    const site = await startBenchFleet(io, 'permit');
    try {
      const { id } = await site.open('run `sleep 3600`');
      const { attempt, server } = await site.until('the session runs', async () => {
        const session = await site.session(id);
        return session.state === 'running' && session.server !== null ? session : undefined;
      });
      const caller = site.speakAs(`agent-server-${server ?? ''}`, site.fleet.internalUrl);
      let calls = 0;
      const ask = async (tool: string, args: Record<string, string>): Promise<number> => {
        calls += 1;
        const from = performance.now();
        const { status, body } = await caller.call(
          'POST',
          `/internal/sessions/${id}/attempts/${attempt}/permits`,
          {
            callId: `bench-${calls}`,
            turn: 1,
            tool,
            arguments: args,
            argumentsDigest: argumentsDigest(args),
            waitMs: 0,
          },
        );
        const ms = performance.now() - from;
        if (status !== 200 || (body as { verdict?: string }).verdict !== 'go')
          throw new Error(`a permit was answered with ${status}: ${JSON.stringify(body)}`);
        return ms;
      };
      const read = () => ask('read_file', { path: 'README.md' });
      const run = () => ask('run_command', { command: 'sleep 0 && sleep 0' });
      for (let round = 0; round < warmUpRounds; round += 1) await (round % 2 === 0 ? read() : run());
      const reads: number[] = [];
      const runs: number[] = [];
      for (let round = 0; round < rounds && !io.signal.aborted; round += 1) {
        reads.push(await read());
        runs.push(await run());
      }
      caller.close();
      const file = distribution('a permit to read a file', 'ms', reads.map(rounded));
      const command = distribution('a permit to run a command', 'ms', runs.map(rounded));
      return {
        results: [file, command],
        goals: [
          goalAtMost('a permit to read a file, p50', 'ms', p50Goal, file.p50),
          goalAtMost('a permit to run a command, p50', 'ms', p50Goal, command.p50),
        ],
      };
    } finally {
      await site.stop();
    }
  },
};

const rounded = (ms: number): number => Math.round(ms * 100) / 100;
