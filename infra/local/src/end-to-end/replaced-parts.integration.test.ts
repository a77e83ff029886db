import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from '@lemniscate/dispatcher/testing/test-database.ts';
import { openCertificateAuthority } from '../certificate-authority.ts';
import { freePort } from '../process/free-port.ts';
import { projectRoot } from '../project-root.ts';
import { runSession, sampleRepository, startTestFleet } from './test-fleet.ts';

test('a fleet on a database, a Redis, a store and an agent server that were there before it', async () => {
  // undone in reverse: the fleet goes before its database
  await using parts = new AsyncDisposableStack();
  const { LEMNISCATE_TEST_REDIS_URL: redis, LEMNISCATE_TEST_S3_ENDPOINT: s3 } = process.env;
  assert.ok(redis !== undefined && s3 !== undefined, 'run by npm test, which brings the stores up');
  const database = await createTestDatabase();
  parts.defer(() => database.drop());
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-replaced-'));
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const [serverPort, internalPort] = [await freePort(), await freePort()];
  // the dispatcher's own bind must not find our claim in its way, and nobody else looks for this port
  internalPort.release();
  parts.defer(serverPort.release);

  const certificates = join(folder, 'certificates');
  mkdirSync(certificates);
  const authority = await openCertificateAuthority(certificates);
  const own = await authority.certificateFor('dispatcher', 'dispatcher');
  const site = await startTestFleet({
    DATABASE_URL: database.url.href,
    // a database number of its own: what the other tests keep there is none of its business
    REDIS_URL: new URL('/9', redis).href,
    S3_ENDPOINT: s3,
    S3_BUCKET: 'replaced-parts',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AGENT_SERVERS: `https://127.0.0.1:${serverPort.port};capacity=1`,
    LEMNISCATE_INTERNAL_PORT: String(internalPort.port),
    LEMNISCATE_TLS_CA: authority.certificate,
    LEMNISCATE_TLS_CERT: own.certificate,
    LEMNISCATE_TLS_KEY: own.key,
  });
  parts.defer(site.stop);
  assert.deepEqual(site.fleet.stores.processes, [], 'no store of its own');
  assert.deepEqual(site.fleet.services.map(({ name }) => name).sort(), ['audit-exporter', 'dispatcher']);

  const leaf = await authority.certificateFor('agent-server', 'elsewhere');
  const server = spawn(process.execPath, [join(projectRoot, 'services/agent-server/src/main.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      LEMNISCATE_SERVER_PORT: String(serverPort.port),
      LEMNISCATE_DISPATCHER_URL: site.fleet.internalUrl,
      LEMNISCATE_TLS_CA: authority.certificate,
      LEMNISCATE_TLS_CERT: leaf.certificate,
      LEMNISCATE_TLS_KEY: leaf.key,
      LEMNISCATE_STATE_FOLDER: join(folder, 'state'),
      LEMNISCATE_SANDBOX_DRIVER: 'bubblewrap',
      LEMNISCATE_EXIT_WITH_PARENT: 'true',
      LEMNISCATE_LOG_LEVEL: 'error',
    },
  });
  parts.defer(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  });

  const { session } = await runSession(site, { repositoryFolder: sampleRepository(site.scratch, 'sample') });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.equal(session.server, 'elsewhere');
});
