import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startFleet } from './fleet.ts';
import { startTimeOf } from './process/start-time.ts';
import { projectRoot } from './project-root.ts';
import { scratchFolder } from './testing/scratch-folder.ts';
import { until } from './testing/until.ts';

// How a fleet starts, fails and is cleared away, with services that do nothing but serve; whole fleets are driven by
// the end-to-end tests.

test('a service that does not start undoes the whole start, and the next one has nothing in its way', async (t) => {
  const root = checkout(t, { dispatcher: `console.error('no such table'); process.exit(4);` });
  const start = () => startFleet({ projectRoot: root, environment: environmentOf(), say: () => undefined });
  for (let tries = 0; tries < 2; tries += 1) {
    await assert.rejects(start, {
      code: 'service_unreachable',
      message: /dispatcher ended with code 4[^]*no such table/,
    });
    assert.deepEqual(readdirSync(join(root, '.lemniscate/run')), []);
    assert.ok(!existsSync(join(root, '.lemniscate/api.json')));
    assert.ok(!existsSync(join(root, '.lemniscate/login.json')));
  }
});

test('a fleet leaves its address while it serves, and nothing after its stop', async (t) => {
  const root = checkout(t, {});
  const fleet = await startFleet({ projectRoot: root, environment: environmentOf(), say: () => undefined });
  t.after(fleet.stop);
  const apiFile = join(root, '.lemniscate/api.json');
  const api = JSON.parse(readFileSync(apiFile, 'utf8')) as Record<string, unknown>;
  assert.deepEqual(api, {
    apiUrl: fleet.apiUrl,
    internalUrl: fleet.internalUrl,
    tokenFile: fleet.tokenFile,
    pid: process.pid,
  });
  assert.deepEqual(fleet.services.map(({ name }) => name).sort(), [
    'agent-server-1',
    'agent-server-2',
    'audit-exporter',
    'dispatcher',
  ]);
  const pids = [
    ...fleet.services.map((service) => service.pid()),
    ...fleet.stores.processes.map((store) => store.pid()),
  ];
  await Promise.all([fleet.stop(), fleet.stop()]);
  for (const pid of pids) assert.equal(startTimeOf(pid ?? 0), undefined);
  assert.ok(!existsSync(apiFile));
});

test('a fleet whose process is killed takes everything along, and the next start is as good', async (t) => {
  const root = checkout(t, {});
  const script = `
    const { startFleet } = await import(${JSON.stringify(join(import.meta.dirname, 'fleet.ts'))});
    const fleet = await startFleet({ projectRoot: ${JSON.stringify(root)}, environment: process.env, say: () => {} });
    console.log('serving');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: environmentOf(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((settle) => void child.stdout.once('data', settle));
  const pids = recordedPids(root);
  assert.equal(pids.length, 7);
  child.kill('SIGKILL');
  await until('everything is gone', () => pids.every((pid) => startTimeOf(pid) === undefined));
  const fleet = await startFleet({ projectRoot: root, environment: environmentOf(), say: () => undefined });
  await fleet.stop();
});

test('a port that is set and taken stops the start with its name', async (t) => {
  const server = createServer();
  await new Promise<void>((settle) => void server.listen(0, '127.0.0.1', settle));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const root = checkout(t, {});
  const environment = { ...environmentOf(), LEMNISCATE_PORT: String(port) };
  await assert.rejects(startFleet({ projectRoot: root, environment, say: () => undefined }), {
    code: 'port_in_use',
    message: new RegExp(`LEMNISCATE_PORT=${port}`),
  });
  assert.deepEqual(readdirSync(join(root, '.lemniscate/run')), []);
});

test('a variable that cannot be read stops the start with its name', async (t) => {
  const environment = { ...environmentOf(), LEMNISCATE_PORT: 'seventy', REDIS_URL: 'http://cache' };
  await assert.rejects(startFleet({ projectRoot: checkout(t, {}), environment, say: () => undefined }), {
    code: 'configuration_invalid',
    message: /REDIS_URL.*LEMNISCATE_PORT/,
  });
});

const httpService = (port: string) => `
  import { createServer } from 'node:http';
  createServer((request, answer) => answer.end()).listen(process.env.${port}, '127.0.0.1');`;
const tlsService = `
  import { createServer } from 'node:https';
  import { readFileSync } from 'node:fs';
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((part) => readFileSync(process.env['LEMNISCATE_TLS_' + part]));
  createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, (request, answer) => answer.end())
    .listen(process.env.LEMNISCATE_SERVER_PORT, '127.0.0.1');`;
const services = {
  dispatcher: httpService('LEMNISCATE_PORT'),
  'audit-exporter': httpService('LEMNISCATE_EXPORTER_PORT'),
  'agent-server': tlsService,
};

/** A checkout whose services only serve, with some of them changed. */
function checkout(test: TestContext, changes: Partial<typeof services>): string {
  const root = scratchFolder(test);
  writeFileSync(join(root, 'package.json'), '{"type": "module"}');
  symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'));
  for (const [name, text] of Object.entries({ ...services, ...changes })) {
    mkdirSync(join(root, 'services', name, 'src'), { recursive: true });
    writeFileSync(join(root, 'services', name, 'src/main.ts'), text);
  }
  return root;
}

/** Ours, without what would replace a part or name a data folder. */
function environmentOf(): Record<string, string | undefined> {
  const kept = ['PATH', 'HOME', 'LANG', 'TMPDIR'];
  return Object.fromEntries(kept.map((name) => [name, process.env[name]]));
}

function recordedPids(root: string): number[] {
  const folder = join(root, '.lemniscate/run');
  return readdirSync(folder).map((file) => {
    const { pid } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { pid: number };
    return pid;
  });
}
