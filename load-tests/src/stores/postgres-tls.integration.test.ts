import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { startLeadership } from '@lemniscate/dispatcher/adapters/postgres/leadership.ts';
import { migrate } from '@lemniscate/dispatcher/adapters/postgres/migrations.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { startPostgres } from '@lemniscate/local/postgres.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { unprivilegedUser } from '@lemniscate/local/process/unprivileged-user.ts';

const told = (): void => undefined;
const log = { debug: told, info: told, warn: told, error: told };

function makeCertificate(folder: string, name: string): { cert: string; key: string } {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}-key.pem`)];
  const subject = ['-subj', '/CN=postgres', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  return { cert, key };
}

test('migrations, the pool and the lock work over TLS, and another authority is refused', async () => {
  // The last one first: nobody may be connected when Postgres stops.
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-pg-tls-'));
  chmodSync(folder, 0o755);
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, folder);
  const claimed = await freePort();
  undo.defer(claimed.release);
  const user = unprivilegedUser();
  const postgres = await startPostgres(data, claimed.port, user, { durable: false, say: told });
  undo.defer(() => postgres.process.stop());
  const own = makeCertificate(folder, 'own');
  const other = makeCertificate(folder, 'other');
  const cluster = join(data.folder('postgres'), 'cluster');
  for (const [from, to] of [
    [own.cert, 'server.crt'],
    [own.key, 'server.key'],
  ] as const) {
    copyFileSync(from, join(cluster, to));
    chmodSync(join(cluster, to), 0o600);
    if (user !== undefined) chownSync(join(cluster, to), user.uid, user.gid);
  }
  await migrate(new URL(postgres.url), told);
  const urlWith = (authority: string): URL => {
    const url = new URL(postgres.url);
    url.hostname = 'localhost';
    url.searchParams.set('sslmode', 'verify-full');
    url.searchParams.set('sslrootcert', authority);
    return url;
  };
  // As the owner, whom the migrations' own connection is.
  const admin = new Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query('ALTER SYSTEM SET ssl = on');
  await admin.query('SELECT pg_reload_conf()');
  undo.defer(async () => admin.end());

  assert.deepEqual(await migrate(urlWith(own.cert), told), []);
  const database = createDatabase({
    url: urlWith(own.cert),
    connections: 3,
    statementTimeoutMs: 10_000,
    onConnectionError: told,
  });
  undo.defer(() => database.close());
  const rows = await database.transaction((tx) =>
    // Several in one write, as under load.
    Promise.all([
      tx.query<{ one: number }>('SELECT $1::int AS one', [1]),
      tx.query<{ length: number }>('SELECT length($1::text) AS length', ['x'.repeat(100_000)]),
    ]),
  );
  assert.deepEqual(rows, [[{ one: 1 }], [{ length: 100_000 }]]);
  const leadership = await startLeadership(urlWith(own.cert), log);
  undo.defer(leadership.close);
  assert.equal(leadership.leads(), true);
  const { rows: connections } = await admin.query<{ name: string; ssl: boolean }>(
    `SELECT DISTINCT application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
     WHERE application_name LIKE 'lemniscate-%' ORDER BY 1`,
  );
  assert.deepEqual(connections, [
    { name: 'lemniscate-dispatcher', ssl: true },
    { name: 'lemniscate-leadership', ssl: true },
  ]);
  const foreign = createDatabase({
    url: urlWith(other.cert),
    connections: 1,
    statementTimeoutMs: 5_000,
    onConnectionError: told,
  });
  undo.defer(() => foreign.close());
  await assert.rejects(foreign.query('SELECT 1'), /certificate/i);
});
