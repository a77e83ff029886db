import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { EnvironmentOrder } from '@lemniscate/shared/protocol/environment.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import type { Bench } from './agent-server-bench.ts';
import { eventsOf, outputOf, patchOf, play, resultOf } from './session-script.ts';

/** What a session's one command printed, and what the session handed over. */
export interface CommandRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly patch: string;
  readonly notices: readonly string[];
}

export const buildOrder = { environmentId: 'env_test', maxSeconds: 120, allowSecretsIn: [] };

/** Commits everything in a folder. @returns the commit */
export function commitAll(folder: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@test.invalid', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'Begin');
  return git('rev-parse', 'HEAD').trim();
}

/** Builds an environment of a repository on a bench, and runs commands in sessions that have it. */
export function environmentBench(bench: Bench, path: string, environment: EnvironmentOrder) {
  const repository = { kind: 'path', path } as const;
  const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

  const take = async (change: Partial<SessionOrder>): Promise<string> => {
    const order = bench.order({ repository, environment, ...change });
    const taken = await bench.put(order);
    assert.equal(taken.status, 202, JSON.stringify(taken.body));
    return order.sessionId;
  };

  const work = async (command: string): Promise<CommandRun> => {
    play(bench, [
      { blocks: [{ id: 'call', tool: 'run_command', input: { command } }] },
      { blocks: [{ text: 'Done.' }] },
    ]);
    const session = await take({});
    const result = await resultOf(bench, session);
    assert.equal(result.reason, 'finished', result.message);
    const events = eventsOf(bench, session);
    return {
      stdout: outputOf(events, 'stdout'),
      stderr: outputOf(events, 'stderr'),
      patch: patchOf(result),
      notices: events.flatMap((event) => (event.type === 'notice' ? [event.text] : [])),
    };
  };

  return {
    build: async (change: Partial<SessionOrder> = {}): Promise<SessionResult & { readonly log: string }> => {
      const session = await take({ build: buildOrder, ...change });
      const result = await bench.dispatcher.until(
        () => bench.dispatcher.results.find(({ sessionId }) => sessionId === session)?.result,
        180_000,
      );
      const log = eventsOf(bench, session)
        .flatMap((event) => (event.type === 'text' ? [event.text] : []))
        .join('');
      return { ...result, log };
    },
    /** In a session whose environment is what the build has made. */
    run: (built: SessionResult, command: string): Promise<CommandRun> => {
      const { environment: made } = built;
      assert.ok(made, built.message);
      const [upload] =
        [...bench.dispatcher.uploads].find(([, bytes]) => digestOf(bytes) === made.archive.sha256) ?? [];
      assert.ok(upload, 'the archive was uploaded');
      bench.dispatcher.onEnvironment = ({ key }) => {
        assert.equal(key, made.key, 'the session needs what was built');
        const archive = { url: bench.dispatcher.store.address(upload), ...made.archive };
        return { kind: 'ready', environmentId: 'env_test', archive, installed: made.installed };
      };
      return work(command);
    },
    runWithout: (command: string): Promise<CommandRun> => {
      bench.dispatcher.onEnvironment = () => ({ kind: 'without', why: 'It is missing.' });
      return work(command);
    },
  };
}
