import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { migrate } from '@lemniscate/dispatcher/adapters/postgres/migrations.ts';
import { createTestDatabase } from '@lemniscate/dispatcher/testing/test-database.ts';
import { freePort } from '../process/free-port.ts';
import { projectRoot } from '../project-root.ts';
import { startRegistry } from '../testing/image-registry.ts';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { until } from '../testing/until.ts';

// The Dockerfiles, over a base and to a place that a registry holds: Debian's, on loopback, since a test leans on no public
// one.

const program = process.env['LEMNISCATE_TEST_REGISTRY'];
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function whyNot(): string | false {
  try {
    run('docker', 'version');
  } catch {
    return 'docker-engine: no engine answers on this machine';
  }
  return program === undefined && 'docker-registry: the package cannot be had here';
}
const noRegistry = whyNot();

const build = (tag: string, file: string, ...more: string[]): void =>
  void run('docker', 'build', '--network=host', '-t', tag, '-f', join(projectRoot, file), ...more);
const idOf = (image: string): string =>
  run('docker', 'image', 'inspect', '--format', '{{.Id}}', image).trim();

/** Pushes a tag. @returns the name by which everybody gets these very bytes: `ADDRESS/NAME@sha256:…` */
function push(tag: string): string {
  run('docker', 'push', tag);
  const digests = run('docker', 'image', 'inspect', '--format', '{{join .RepoDigests " "}}', tag);
  const name = tag.slice(0, tag.lastIndexOf(':'));
  const pinned = digests.trim().split(' ');
  return pinned.find((each) => each.startsWith(`${name}@sha256:`)) ?? assert.fail(`${tag}: ${digests}`);
}

/** The digest of the manifest that the registry gives out, reckoned here, and the id of the image that it describes. */
async function inRegistry(pinned: string): Promise<{ readonly digest: string; readonly id: string }> {
  const [, address = '', name = '', digest = ''] = /^([^/]+)\/(.+)@(.+)$/.exec(pinned) ?? [];
  const accept = 'application/vnd.docker.distribution.manifest.v2+json';
  const answer = await fetch(`http://${address}/v2/${name}/manifests/${digest}`, { headers: { accept } });
  assert.equal(answer.status, 200, pinned);
  const manifest = Buffer.from(await answer.arrayBuffer());
  const { config } = JSON.parse(manifest.toString('utf8')) as { config: { digest: string } };
  return { digest: `sha256:${createHash('sha256').update(manifest).digest('hex')}`, id: config.digest };
}

/** Where this machine's own apt has Debian 12 from. */
function debianMirror(): string {
  const own = process.env['DEBIAN_MIRROR'];
  if (own !== undefined) return own;
  const sites = run('apt-get', 'indextargets', '--format', '$(CODENAME) $(REPO_URI)', 'Created-By: Packages');
  return /^bookworm (\S+)$/m.exec(sites)?.[1] ?? assert.fail(`apt has no bookworm here: ${sites}`);
}

/** Stands for node:24-bookworm-slim: Debian with apt, Node 24 and npm, trusting whom this machine trusts. */
function buildBase(t: TestContext, tag: string): void {
  const folder = scratchFolder(t);
  const root = run(join(projectRoot, 'infra/images/agent-base/build.sh'), 'slim').trim();
  mkdirSync(join(folder, 'certs'));
  const trusted = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(trusted)) copyFileSync(trusted, join(folder, 'certs/ca-certificates.crt'));
  writeFileSync(
    join(folder, 'Dockerfile'),
    `FROM ${root}
USER 0:0
WORKDIR /
RUN sed -i /:10001:/d /etc/passwd /etc/group && rm -r /home/agent /workspace \\
 && echo 'deb ${debianMirror()} bookworm main' >/etc/apt/sources.list
COPY certs /etc/ssl/certs
ENV NODE_EXTRA_CA_CERTS=${trusted}
`,
  );
  run('docker', 'build', '--network=host', '-t', tag, folder);
}

/** The last one is run. */
const services = ['dispatcher', 'agent-server', 'audit-exporter'] as const;

/** Runs the exporter's image as a container until the engine calls it healthy, and has it end by itself. */
async function runsWell(image: string): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const database = await createTestDatabase();
  parts.defer(() => database.drop());
  await migrate(database.url, () => undefined);
  const claim = await freePort();
  claim.release();
  const variables = {
    DATABASE_URL: database.url.href,
    LEMNISCATE_SINK_FILE: '/tmp/entries.ndjson',
    LEMNISCATE_EXPORTER_PORT: String(claim.port),
  };
  const settings = Object.entries(variables).flatMap(([variable, value]) => ['-e', `${variable}=${value}`]);
  const closed = ['--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
  const name = `lemniscate-registry-${process.pid}`;
  parts.defer(() => void run('docker', 'rm', '--force', name));
  run('docker', 'run', '--detach', '--network=host', '--name', name, ...closed, ...settings, image);
  const health = (): string => run('docker', 'inspect', '--format', '{{.State.Health.Status}}', name).trim();
  await until('it is healthy', () => health() === 'healthy', 120_000);
  run('docker', 'stop', '--time', '30', name);
  assert.equal(run('docker', 'inspect', '--format', '{{.State.ExitCode}}', name).trim(), '0');
}

test(
  'images are built over a registry’s base, pushed, and come back by digest as they were, and one runs well',
  { skip: noRegistry },
  async (t) => {
    // undone in reverse
    await using parts = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-registry-'));
    parts.defer(() => rmSync(folder, { recursive: true, force: true }));
    const registry = await startRegistry(program ?? assert.fail(), folder);
    parts.defer(registry.stop);
    const made: string[] = [];
    // all that names the registry: nothing of it is of use when it is gone
    parts.defer(() => {
      for (const image of made.toReversed()) run('docker', 'rmi', '--force', image);
    });
    const named = (name: string): string => {
      const tag = `${registry.address}/${name}`;
      made.push(tag);
      return tag;
    };

    const baseTag = named('node:24-bookworm-slim');
    buildBase(t, baseTag);
    const base = push(baseTag);
    made.push(base);
    const over = `--build-arg=NODE_IMAGE=${base}`;
    // the engine has it from nowhere else
    run('docker', 'rmi', baseTag);
    assert.throws(() => idOf(base));

    const publish = async (tag: string): Promise<string> => {
      const built = idOf(tag);
      const image = push(tag);
      made.push(image);
      assert.deepEqual(await inRegistry(image), { digest: image.split('@')[1], id: built });
      run('docker', 'rmi', tag);
      assert.throws(() => idOf(image), 'it is not here any more');
      run('docker', 'pull', image);
      assert.equal(idOf(image), built);
      return image;
    };
    let pinned = '';
    for (const service of services) {
      const about = [over, `--build-arg=SERVICE=${service}`, projectRoot];
      // the stage by a name as well, so that it can be removed
      build(named(`stage/${service}:test`), 'infra/images/Dockerfile', '--target=build', ...about);
      const tag = named(`lemniscate/${service}:test`);
      build(tag, 'infra/images/Dockerfile', ...about);
      pinned = await publish(tag);
    }
    const sandbox = named('lemniscate/agent-base:slim');
    build(sandbox, 'infra/images/agent-base/Dockerfile', over, '--build-arg=PROFILE=slim', projectRoot);
    await publish(sandbox);
    const other = `${pinned.slice(0, -64)}${'0'.repeat(64)}`;
    assert.throws(() => run('docker', 'pull', other), 'a digest that is not there is refused');
    await runsWell(pinned);
  },
);
