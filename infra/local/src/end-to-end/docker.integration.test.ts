import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { applyPatch } from '@lemniscate/cli/repository/apply.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import {
  assertNothingRuns,
  makeRepository,
  runSession,
  sampleRepository,
  startTestFleet,
  testsPass,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const engine = (...args: string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

function answers(): boolean {
  try {
    engine('version');
    return true;
  } catch {
    return false;
  }
}

const skip = answers() ? false : 'docker-engine: no engine answers on this machine';

test(
  'a whole fleet on the docker driver mends the sample in a container, lets both vendors’ programs work in one, and leaves none',
  { skip },
  async (t) => {
    // built when it is not there yet, which takes a minute
    const build = join(projectRoot, 'infra/images/agent-base/build.sh');
    const image = execFileSync(build, ['slim'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const settings = mkdtempSync(join(tmpdir(), 'lemniscate-docker-e2e-'));
    t.after(() => rmSync(settings, { recursive: true }));
    const profiles = join(settings, 'profiles.yaml');
    writeFileSync(profiles, `profiles:\n  default: { image: "${image}", memory: 1GiB, tmp: 64MiB }\n`);
    const upstream = await startScriptedUpstream();
    t.after(() => upstream.close());
    const site = await startTestFleet({
      ANTHROPIC_API_KEY: 'sk-ant-test-0123456789',
      ANTHROPIC_BASE_URL: upstream.url,
      OPENAI_API_KEY: 'sk-oai-test-0123456789',
      OPENAI_BASE_URL: upstream.url,
      LEMNISCATE_SANDBOX_DRIVER: 'docker',
      LEMNISCATE_SANDBOX_PROFILES: profiles,
    });
    try {
      const folder = sampleRepository(site.scratch, 'sample');
      assert.equal(testsPass(folder), false, 'the sample has a fault');
      for (const runtime of ['claude-code', 'codex'] as const)
        await vendorsProgram(site, upstream, runtime, folder);
      const { session, events, patch } = await runSession(site, {
        repositoryFolder: folder,
        model: 'scripted-1',
      });
      assert.equal(session.state, 'completed', session.message ?? '');
      const running = events.find(({ event }) => event.type === 'running')?.event;
      assert.equal(running?.type === 'running' ? running.driver : '', 'docker');
      await applyPatch(folder, Buffer.from(patch), session.diff?.baseTree ?? '');
      assert.equal(testsPass(folder), true, patch);
      await runsOnTheWorkstation(t, site, image);
    } finally {
      await site.stop();
    }
    await assertNothingRuns(site.scratch);
    const left = engine('ps', '-a', '--filter', 'label=dev.lemniscate.server', '--format', '{{.Names}}');
    assert.doesNotMatch(left, /agent-server-/);
  },
);

/** Of workstations alone: other fleets use the same engine at the same time. */
const workstationContainers = (): string[] =>
  engine('ps', '-a', '--filter', 'label=dev.lemniscate.server', '--format', '{{.Names}}')
    .split('\n')
    .filter((name) => name.startsWith('lemniscate-ws-'));

/**
 * `lemniscate run` as a person calls it, with the sandbox in a container of their own machine: what they say of their
 * sandboxes holds there, and a toolchain that they name can be run inside.
 */
async function runsOnTheWorkstation(t: TestContext, site: TestFleet, image: string): Promise<void> {
  // not in /tmp, which sandboxes have of their own, and not in /root, through which an image lets nobody
  const kit = mkdtempSync(join(process.getuid?.() === 0 ? '/opt' : homedir(), 'lemniscate-kit-'));
  t.after(() => rmSync(kit, { recursive: true }));
  mkdirSync(join(kit, 'bin'), { recursive: true });
  writeFileSync(join(kit, 'bin/kit-says'), '#!/bin/sh\necho "the workstation has $0"\n', { mode: 0o755 });
  chmodSync(kit, 0o755);
  const profiles = join(site.scratch, 'workstation-profiles.yaml');
  writeFileSync(
    profiles,
    `profiles:\n  default: { image: "${image}", memory: 1GiB, tmp: 64MiB, toolchains: ["${kit}"] }\n`,
  );
  const policy = 'tools: {run_command: allow}\nfreeCommands: [kit-says, env]\n';
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'kits', policy } });
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const lemniscate = (...args: string[]) =>
    promisify(execFile)(process.execPath, [program, ...args], {
      env: {
        ...site.environment,
        TMPDIR: site.scratch,
        LEMNISCATE_AGENT_EXECUTION: 'workstation',
        LEMNISCATE_SANDBOX_PROFILES: profiles,
        LEMNISCATE_PLANTED: 'planted-on-the-workstation',
      },
    });
  const model = ['--model', 'scripted-1'];

  const folder = sampleRepository(site.scratch, 'workstation');
  const mended = await lemniscate('run', 'fix the failing test', '--repo', folder, ...model);
  assert.match(mended.stdout, /execution workstation/);
  assert.match(mended.stdout, /sandbox: docker/);
  assert.equal(testsPass(folder), false, 'nothing reaches the repository by itself');
  const session = /session (s_\w+)/.exec(mended.stdout)?.[1] ?? '';
  await lemniscate('apply', session, '--repo', folder);
  assert.equal(testsPass(folder), true, mended.stdout);

  const other = makeRepository(site.scratch, 'kits', { 'a.txt': 'one\n' });
  const tools = ['--repo', other, '--project', 'kits', ...model];
  const kitRun = await lemniscate('run', 'run `kit-says`', ...tools);
  assert.match(kitRun.stdout, new RegExp(`│ the workstation has ${kit}/bin/kit-says`));
  const variables = await lemniscate('run', 'run `env`', ...tools);
  assert.match(variables.stdout, /│ PATH=/, 'the variables are shown');
  assert.doesNotMatch(variables.stdout, /planted-on-the-workstation/);
  assert.deepEqual(workstationContainers(), [], 'its container is gone with it');
}

/** A session of a vendor's program, from its start in the container to its diff. */
async function vendorsProgram(
  site: TestFleet,
  upstream: ScriptedUpstream,
  runtime: 'claude-code' | 'codex',
  repositoryFolder: string,
): Promise<void> {
  upstream.play([
    { blocks: [{ id: 'toolu_run', tool: 'run_command', input: { command: 'cat /etc/hostname; id -u' } }] },
    { blocks: [{ id: 'toolu_write', tool: 'write_file', input: { path: 'made', content: `${runtime}\n` } }] },
    { blocks: [{ text: 'Made.' }] },
  ]);
  const { session, events, patch, audit } = await runSession(site, { repositoryFolder, runtime });
  assert.deepEqual([session.state, session.message], ['completed', 'Made.'], session.message ?? '');
  assert.match(patch, new RegExp(`\\+${runtime}`));
  const running = events.find(({ event }) => event.type === 'running')?.event;
  assert.equal(running?.type === 'running' ? running.driver : '', 'docker');
  assert.equal(audit.fault, null);
}
