import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { applyPatch } from '@lemniscate/cli/repository/apply.ts';
import { projectRoot } from '../project-root.ts';
import { processesOf, runSession, sampleRepository, startTestFleet, testsPass } from './test-fleet.ts';

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
  'a whole fleet on the docker driver mends the sample in a container, and leaves none',
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
    writeFileSync(profiles, `profiles:\n  default: { image: "${image}", memory: 512MiB, tmp: 64MiB }\n`);
    const site = await startTestFleet({
      LEMNISCATE_SANDBOX_DRIVER: 'docker',
      LEMNISCATE_SANDBOX_PROFILES: profiles,
    });
    try {
      const folder = sampleRepository(site.scratch, 'sample');
      assert.equal(testsPass(folder), false, 'the sample has a fault');
      const { session, events, patch } = await runSession(site, { repositoryFolder: folder });
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
