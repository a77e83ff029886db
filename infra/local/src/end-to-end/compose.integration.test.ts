import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { freePort } from '../process/free-port.ts';
import type { PortClaim } from '../process/free-port.ts';
import { projectRoot } from '../project-root.ts';
import { until } from '../testing/until.ts';
import { runSession, sampleRepository } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

// The fleet of infra/compose on a real engine, with images that are built here without a registry.

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function answers(command: string): boolean {
  try {
    run(command, 'version');
    return true;
  } catch {
    return false;
  }
}

const noCompose = !answers('docker')
  ? 'docker-engine: no engine answers on this machine'
  : answers('docker-compose')
    ? false
    : 'docker-compose: the package docker-compose is not installed';

const portNames = [
  'POSTGRES_PORT',
  'REDIS_PORT',
  'S3_PORT',
  'SYSLOG_PORT',
  'LEMNISCATE_PORT',
  'LEMNISCATE_INTERNAL_PORT',
  'AGENT_SERVER_PORT',
  'EXPORTER_PORT',
] as const;

test(
  'images are built without a registry; the fleet comes up, mends the sample, and goes',
  { skip: noCompose },
  async (t) => {
    const image = (target: string): string => run(join(projectRoot, 'infra/images/build.sh'), target).trim();
    const images = ['stores', 'dispatcher', 'agent-server', 'audit-exporter'].map(image);
    run(join(projectRoot, 'infra/images/agent-base/build.sh'), 'slim');
    for (const tag of images)
      assert.equal(
        run('docker', 'image', 'inspect', '--format', '{{.Config.User}}', tag).trim(),
        '10001:10001',
      );

    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-compose-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    run('chmod', '711', folder);
    const claims = new Map<string, PortClaim>();
    for (const name of portNames) claims.set(name, await freePort());
    const ports = Object.fromEntries([...claims].map(([name, claim]) => [name, String(claim.port)]));
    const socket = (process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock').replace('unix://', '');
    execFileSync(
      process.execPath,
      [join(projectRoot, 'infra/local/src/prepare-compose.ts'), folder, socket],
      {
        env: { ...process.env, ...ports },
        stdio: 'pipe',
      },
    );
    for (const claim of claims.values()) claim.release();
    const project = `lemniscate-test-${process.pid}`;
    const settings = join(folder, '.env');
    appendFileSync(
      settings,
      `${Object.entries({ ...ports, COMPOSE_PROJECT_NAME: project })
        .map(([name, value]) => `${name}=${value}`)
        .join('\n')}\n`,
    );
    const compose = (...args: string[]): string =>
      run(
        'docker-compose',
        '--env-file',
        settings,
        '-p',
        project,
        '-f',
        join(projectRoot, 'infra/compose/compose.yaml'),
        ...args,
      );
    try {
      compose('up', '-d');
      const url = `http://127.0.0.1:${ports['LEMNISCATE_PORT']}`;
      const { token } = JSON.parse(readFileSync(join(folder, 'login.json'), 'utf8')) as { token: string };
      await until(
        'an agent server is there',
        async () => {
          const answer = await fetch(`${url}/v1/pools`, {
            headers: { authorization: `Bearer ${token}` },
          }).catch(() => null);
          return answer?.ok === true && /"slots":[1-9]/.test(await answer.text());
        },
        120_000,
      );
      const page = await fetch(`${url}/console/`);
      assert.equal(page.status, 200, 'the image has the console');
      const [script = assert.fail()] = /\/console\/assets\/[^"]+\.js/.exec(await page.text()) ?? [];
      assert.equal((await fetch(`${url}${script}`)).status, 200);
      const site = { client: createApiClient({ url, token }) } as TestFleet;
      const repository = sampleRepository(folder, 'sample');
      const { session, patch, audit } = await runSession(site, { repositoryFolder: repository });
      assert.equal(session.state, 'completed', session.message ?? '');
      assert.match(patch, /^\+.*quantity >= fromQuantity/m);
      assert.ok(audit.verified);
      const received = () => run('docker', 'exec', `${project}_syslog_1`, 'cat', '/data/audit.log');
      await until('the receiver has the session over TLS', () => received().includes(session.id), 60_000);
      const states = () =>
        run(
          'docker',
          'ps',
          '--filter',
          `label=com.docker.compose.project=${project}`,
          '--format',
          '{{.Names}} {{.Status}}',
        );
      await until('all are healthy', () => states().match(/\(healthy\)/g)?.length === 5, 90_000);
      for (const name of ['dispatcher', 'agent-server', 'audit-exporter'])
        assert.throws(() =>
          run('docker', 'exec', `${project}_${name}_1`, 'node', '-e', 'fs.writeFileSync("/app/x", "")'),
        );
      // each ends by itself when it is told to: a container that does not listen is killed, and has 137
      compose('stop', '--timeout', '60', 'agent-server', 'dispatcher', 'audit-exporter');
      for (const name of ['agent-server', 'dispatcher', 'audit-exporter'])
        assert.equal(
          run('docker', 'inspect', '--format', '{{.State.ExitCode}}', `${project}_${name}_1`).trim(),
          '0',
          `the exit code of ${name}`,
        );
    } finally {
      compose('down', '-v', '--timeout', '30');
    }
    const left = run('docker', 'ps', '-a', '--format', '{{.Names}} {{.Label "dev.lemniscate.server"}}');
    assert.doesNotMatch(left, new RegExp(project));
    assert.doesNotMatch(left, /^lemniscate-compose-/m);
  },
);
