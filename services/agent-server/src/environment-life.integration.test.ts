import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';
import Docker from 'dockerode';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { describeEngine } from './adapters/sandbox/docker/engine.ts';
import type { Config } from './config.ts';
import { startBench } from './testing/agent-server-bench.ts';
import { commitAll, environmentBench } from './testing/environment-bench.ts';
import { eventsOf, outputOf, patchOf, play, resultOf, resumed, settled } from './testing/session-script.ts';

const build = fileURLToPath(new URL('../../../infra/images/agent-base/build.sh', import.meta.url));
const engine = await describeEngine(new Docker()).then(
  () => true,
  () => false,
);

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-environment-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a server with this driver is told. The image is built when it is not there yet, which takes a minute. */
const drivers: Readonly<Record<string, (t: TestContext) => Partial<Config>>> = {
  bubblewrap: () => ({ driver: 'bubblewrap' }),
  docker: (t) => {
    const image = execFileSync(build, ['slim'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
    const profilesFile = join(scratch(t), 'profiles.yaml');
    writeFileSync(profilesFile, `profiles:\n  default: { image: "${image}", memory: 1GiB, tmp: 64MiB }\n`);
    return { driver: 'docker', profilesFile };
  },
};

const go: PermitAnswer = { verdict: 'go', decidedBy: 'human', reasons: [] };
const run = (id: string, command: string) => ({ id, tool: 'run_command', input: { command } });

suite('an environment', () => {
  for (const [name, configOf] of Object.entries(drivers)) {
    const skip = name === 'docker' && !engine ? 'docker-engine: no engine answers on this machine' : false;
    test(
      `on the ${name} driver is named by what it is made of, and is there before a pause and after it`,
      { skip },
      async (t) => {
        const bench = await startBench(t, { capacity: 4, ...configOf(t) });
        const path = scratch(t);
        writeFileSync(join(path, 'package.json'), '{"name":"one"}');
        commitAll(path);
        const environment = {
          lockfiles: ['package.json'],
          variables: {},
          prepare:
            'mkdir -p node_modules/left ~/.cache; echo module > node_modules/left/index.js; echo entry > ~/.cache/entry',
        };
        const bare = environmentBench(bench, path, environment);
        const built = await bare.build();
        assert.equal(built.reason, 'finished', built.message);
        assert.equal(
          (await bare.build()).environment?.key,
          built.environment?.key,
          'built again it is the same one',
        );
        const other = await environmentBench(bench, path, { ...environment, prepare: 'true' }).build();
        assert.notEqual(other.environment?.key, built.environment?.key, 'another text makes another one');

        // its first use also says where the archive is
        assert.equal(
          (await bare.run(built, 'cat node_modules/left/index.js ~/.cache/entry')).stdout,
          'module\nentry\n',
        );
        let answer: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };
        bench.dispatcher.onPermit = (request) => (request.callId === 'second' ? answer : go);
        play(bench, [
          {
            blocks: [
              run('first', 'echo mine > made; echo more >> node_modules/left/index.js; rm ~/.cache/entry'),
              run('second', 'cat made node_modules/left/index.js; ls -A ~/.cache; echo later > later'),
            ],
          },
          { blocks: [{ text: 'Done.' }] },
        ]);
        const order = bench.order({ repository: { kind: 'path', path }, environment });
        await bench.put(order);
        await bench.dispatcher.until(() =>
          bench.dispatcher.permits.some(({ callId }) => callId === 'second'),
        );
        bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
        await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
        bench.dispatcher.pauses.clear();
        await settled(bench);
        assert.deepEqual(await bench.leftovers(), [], 'nothing of a paused session is left on its server');
        answer = go;
        const installed = built.environment?.installed ?? [];
        await bench.put({
          ...resumed(bench, order),
          environment: { ...environment, installed: [...installed] },
        });
        const result = await resultOf(bench, order.sessionId, 2);
        assert.equal(result.reason, 'finished', result.message);
        const events = eventsOf(bench, order.sessionId, 2);
        assert.equal(
          outputOf(events, 'stdout'),
          'mine\nmodule\nmore\n',
          'with what the session has made of it',
        );
        assert.deepEqual(
          result.diff?.files.map((file) => file.path),
          ['later', 'made'],
        );
        assert.doesNotMatch(patchOf(result), /node_modules/);
        await settled(bench);
        assert.deepEqual(await bench.leftovers(), []);
      },
    );
  }
});
