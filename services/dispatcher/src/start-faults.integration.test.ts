import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { startOwnRedis } from './testing/own-redis.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

/** The last log line of a dispatcher that could not start. */
async function startFault(
  environment: Record<string, string>,
): Promise<{ code: string; msg: string; exit: unknown }> {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 30_000,
  });
  const [stderr, [exit]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return { ...(JSON.parse(line) as { code: string; msg: string }), exit };
}

describe('a dispatcher that cannot start says why', () => {
  let fleet: TestFleet;
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
  });
  after(() => fleet.remove());

  const faults: readonly [
    what: string,
    extra: () => Promise<Record<string, string>>,
    code: string,
    says: RegExp,
  ][] = [
    [
      'an unreadable variable',
      async () => ({ LEMNISCATE_LEASE_MS: 'soon' }),
      'configuration_invalid',
      /LEMNISCATE_LEASE_MS/,
    ],
    [
      'an unreadable server list',
      async () => ({ AGENT_SERVERS: 'http://x:1' }),
      'configuration_invalid',
      /AGENT_SERVERS.*https/,
    ],
    [
      'a login that would leave the machine',
      async () => ({ LEMNISCATE_HOST: '0.0.0.0' }),
      'configuration_invalid',
      /LEMNISCATE_LOCAL_LOGIN/,
    ],
    [
      'a price file with a negative number',
      async () => {
        const file = join(await mkdtemp(join(tmpdir(), 'lemniscate-prices-')), 'prices.yaml');
        await writeFile(file, 'providers: {house: {models: {m: {perMTok: {input: -1, output: 1}}}}}');
        return { LEMNISCATE_PRICES: file };
      },
      'configuration_invalid',
      /LEMNISCATE_PRICES: .*providers\.house: .*a price cannot be negative/,
    ],
    [
      'no Postgres',
      async () => ({ DATABASE_URL: `postgres://u:hush@127.0.0.1:${await freePort()}/d` }),
      'service_unreachable',
      /Postgres at 127\.0\.0\.1:\d+\/d/,
    ],
    [
      'no Redis',
      async () => ({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` }),
      'service_unreachable',
      /Redis at 127\.0\.0\.1:\d+/,
    ],
    [
      'an expired certificate',
      async () => {
        const files = await fleet.authority.issue(serviceUri('dispatcher', 'old'), -60_000);
        return { LEMNISCATE_TLS_CERT: files.cert, LEMNISCATE_TLS_KEY: files.key };
      },
      'certificate_expired',
      /leaf-\d+\.pem expired on/,
    ],
    [
      'a key of another certificate',
      async () => ({ LEMNISCATE_TLS_KEY: (await fleet.authority.issue(serviceUri('dispatcher', 'x'))).key }),
      'key_mismatch',
      /LEMNISCATE_TLS_KEY/,
    ],
    [
      'a certificate of another role',
      async () => {
        const files = await fleet.authority.issue(serviceUri('agent-server', 'x'));
        return { LEMNISCATE_TLS_CERT: files.cert, LEMNISCATE_TLS_KEY: files.key };
      },
      'configuration_invalid',
      /does not name a dispatcher/,
    ],
    [
      'a missing file',
      async () => ({ LEMNISCATE_TLS_CA: '/nowhere/ca.pem' }),
      'configuration_invalid',
      /LEMNISCATE_TLS_CA.*\/nowhere\/ca\.pem/,
    ],
    [
      'an unreadable policy',
      async () => {
        const file = `${fleet.authority.ca}.policy.yaml`;
        await writeFile(file, 'tool: {}\n');
        return { LEMNISCATE_DEFAULT_POLICY: file };
      },
      'configuration_invalid',
      /policy\.yaml.*tool/s,
    ],
  ];
  for (const [what, extra, code, says] of faults)
    test(`${what} is named`, async () => {
      const fault = await startFault(await fleet.environment(await extra()));
      assert.equal(fault.code, code, fault.msg);
      assert.match(fault.msg, says);
      assert.doesNotMatch(fault.msg, /hush/);
      assert.equal(fault.exit, 1);
    });

  test('a Redis that evicts is refused', async () => {
    const evicting = await startOwnRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
    try {
      const fault = await startFault(await fleet.environment({ REDIS_URL: evicting.url.href }));
      assert.equal(fault.code, 'configuration_invalid');
      assert.match(fault.msg, /allkeys-lru.*noeviction/);
    } finally {
      await evicting.remove();
    }
  });

  for (const variable of ['LEMNISCATE_PORT', 'LEMNISCATE_INTERNAL_PORT'])
    test(`a port in use is named with ${variable}`, async () => {
      const squatter = createServer();
      squatter.listen(0, '127.0.0.1');
      await once(squatter, 'listening');
      const address = squatter.address();
      const port = String(address !== null && typeof address === 'object' ? address.port : 0);
      try {
        const fault = await startFault(await fleet.environment({ [variable]: port }));
        assert.equal(fault.code, 'port_in_use');
        assert.match(fault.msg, new RegExp(`${port}.*${variable}`));
      } finally {
        squatter.close();
      }
    });

  test('a host that others can reach is served over TLS only', async () => {
    const extra = { LEMNISCATE_HOST: '0.0.0.0', LEMNISCATE_LOCAL_LOGIN: '' };
    const { publicPort } = await fleet.startDispatcher(extra);
    const agent = new Agent({ connect: { ca: await readFile(fleet.authority.ca) } });
    const answer = await request(`https://localhost:${publicPort}/healthz`, { dispatcher: agent });
    assert.equal(answer.statusCode, 200);
    await assert.rejects(fetch(`http://localhost:${publicPort}/healthz`));
    const anonymous = await request(`https://localhost:${publicPort}/v1/sessions`, { dispatcher: agent });
    assert.equal(anonymous.statusCode, 401);
    await agent.destroy();
  });

  test('the process ends on SIGTERM, and when its parent has gone', async () => {
    for (const how of ['SIGTERM', 'parent'] as const) {
      const port = await freePort();
      const child = spawn(process.execPath, [main], {
        env: {
          PATH: process.env['PATH'] ?? '',
          ...(await fleet.environment({
            LEMNISCATE_PORT: String(port),
            LEMNISCATE_EXIT_WITH_PARENT: 'true',
          })),
        },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const exited = once(child, 'exit');
      await within(30_000, 'it is ready', () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          (answer) => answer.status === 200,
          () => false,
        ),
      );
      if (how === 'SIGTERM') child.kill('SIGTERM');
      else child.stdin.end();
      const [code] = await exited;
      assert.equal(code, 0, how);
    }
  });
});
