import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';
import { createDockerDriver } from '../../../adapters/sandbox/docker/driver.ts';
import { describeEngine } from '../../../adapters/sandbox/docker/engine.ts';
import type { Config } from '../../../config.ts';
import {
  answered,
  cliTest,
  cutStream,
  exhaustedBudget,
  furtherMessage,
  interrupted,
  overloaded,
  stopped,
  waitingApproval,
} from './cli-cases.ts';

const build = fileURLToPath(new URL('../../../../../../infra/images/agent-base/build.sh', import.meta.url));
const missing = await describeEngine(new Docker()).then(
  () => null,
  () => 'docker-engine: no engine answers on this machine',
);

/** The image is built when it is not there yet, which takes a minute. */
const imageName = (): string =>
  execFileSync(build, ['slim'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();

suite('the programs in a container', { skip: missing ?? false }, () => {
  const stateFolder = `/var/tmp/lemniscate-docker-${process.pid}-cli`;
  after(() => rm(stateFolder, { recursive: true, force: true }));

  test('are there, in the pinned versions, and start without a network', async () => {
    const image = imageName();
    const driver = createDockerDriver({ stateFolder, serverId: `srv_cli_${process.pid}`, image });
    const mebibyte = 1024 * 1024;
    const sandbox = await driver.boot(`sbx_cli_${process.pid}`, {
      name: 'cli',
      memoryBytes: 1024 * mebibyte,
      processes: 128,
      cpus: 2,
      tmpBytes: 64 * mebibyte,
      shmBytes: 16 * mebibyte,
      cpuSeconds: 600,
      diskBytes: 256 * mebibyte,
      diskFiles: 10_000,
      image,
    });
    try {
      const { dependencies } = (await import('../../../../package.json', { with: { type: 'json' } })).default;
      const said = async (program: string): Promise<string> => {
        const execution = sandbox.run({
          argv: [program, '--version'],
          timeoutMs: 60_000,
          maxOutputBytes: mebibyte,
        });
        let text = '';
        for await (const { bytes } of execution.output) text += Buffer.from(bytes).toString();
        assert.equal((await execution.end).exitCode, 0, text);
        return text;
      };
      const claude = await said('/opt/lemniscate/claude-code/claude');
      assert.ok(claude.includes(dependencies['@anthropic-ai/claude-code']), claude);
      const codex = await said('/opt/lemniscate/codex/bin/codex');
      assert.ok(codex.includes(dependencies['@openai/codex']), codex);
    } finally {
      await sandbox.destroy();
    }
  });
});

/** A server whose sandboxes are containers of the slim image. */
function dockerServer(t: TestContext): Partial<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-docker-cli-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const profilesFile = join(folder, 'profiles.yaml');
  writeFileSync(
    profilesFile,
    `profiles:\n  default: { image: "${imageName()}", memory: 1GiB, tmp: 64MiB }\n`,
  );
  return { driver: 'docker', profilesFile };
}

// What differs between the drivers is the way in and out of the sandbox: every kind of exchange with a program once.
for (const runtime of ['claude-code', 'codex'] as const)
  suite(`${runtime} in a container`, { skip: missing ?? false }, () => {
    for (const one of [answered, furtherMessage, stopped, overloaded, cutStream, exhaustedBudget])
      cliTest(one, { runtime }, dockerServer);
    for (const cliTools of ['own', 'hosted'] as const)
      suite(`with tools that are ${cliTools}`, () => {
        cliTest(waitingApproval, { runtime, cliTools }, dockerServer);
        cliTest(interrupted, { runtime, cliTools }, dockerServer);
      });
  });
