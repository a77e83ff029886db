import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { applyPatch } from '@lemniscate/cli/repository/apply.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { projectRoot } from '../project-root.ts';
import { processesOf, runSession, sampleRepository, startTestFleet, testsPass } from './test-fleet.ts';
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
    } finally {
      await site.stop();
    }
    assert.deepEqual(processesOf(site.scratch), []);
    const left = engine('ps', '-a', '--filter', 'label=dev.lemniscate.server', '--format', '{{.Names}}');
    assert.doesNotMatch(left, /agent-server-/);
  },
);

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
