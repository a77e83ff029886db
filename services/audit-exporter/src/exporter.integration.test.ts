import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { fromStored } from '@lemniscate/shared/audit/stored-entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import type { ChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import { closed, createLogDatabase, executed, noDatabase, opened } from './testing/database.ts';
import type { LogDatabase } from './testing/database.ts';
import { startExporterProcess, until } from './testing/exporter-process.ts';
import type { ExporterProcess } from './testing/exporter-process.ts';
import { countLines, readSinkFile } from './testing/read-sink-file.ts';

let database: LogDatabase;
let folder: string;
const running = new Set<ExporterProcess>();
if (noDatabase === false) {
  before(async () => {
    database = await createLogDatabase();
    folder = await mkdtemp(join(tmpdir(), 'exporter-'));
  });
  after(async () => {
    await Promise.all([...running].map((exporter) => exporter.end('SIGKILL')));
    await rm(folder, { recursive: true });
    await database.drop();
  });
}

function start(file: string, more: Readonly<Record<string, string>> = {}): ExporterProcess {
  const exporter = startExporterProcess({ DATABASE_URL: database.url, LEMNISCATE_SINK_FILE: file, ...more });
  running.add(exporter);
  return exporter;
}

async function end(
  exporter: ExporterProcess,
  signal: NodeJS.Signals,
): Promise<number | NodeJS.Signals | null> {
  running.delete(exporter);
  return exporter.end(signal);
}

async function logSize(): Promise<number> {
  const { rows } = await database.owner.query<{ size: string }>('SELECT count(*) AS size FROM audit_entries');
  return Number(rows[0]?.size);
}

/** The file holds the whole log: indexes 0, 1, 2 … without hole or double, every chain whole and in order. */
async function assertWhole(file: string): Promise<void> {
  const lines = await readSinkFile(file);
  assert.equal(lines.length, await logSize());
  const verifiers = new Map<string, ChainVerifier>();
  for (const [place, line] of lines.entries()) {
    assert.equal(line.index, place);
    const verifier = verifiers.get(line.chain) ?? createChainVerifier(line.chain);
    verifiers.set(line.chain, verifier);
    assert.equal(verifier.push(fromStored(line)), null);
  }
  const { rows } = await database.owner.query<{ chain: string; head_seq: string; head_digest: Buffer }>(
    'SELECT * FROM audit_chains',
  );
  for (const { chain, head_seq, head_digest } of rows)
    assert.equal(
      verifiers.get(chain)?.finish({ head: { seq: Number(head_seq), digest: head_digest } }),
      null,
    );
}

const shipped = (file: string, size: number): Promise<void> =>
  until(`${size} entries in ${file}`, async () => (await countLines(file)) >= size);

/** Appends entries in chunks over several sessions at once. */
async function appendMany(prefix: string, entries: number): Promise<void> {
  const sessions = 5;
  await Promise.all(
    Array.from({ length: sessions }, async (_, number) => {
      const chain = sessionChain(`${prefix}_${number}`);
      await database.append(chain, [opened]);
      const calls = Array.from({ length: entries / sessions - 2 }, (_, call) => executed(call));
      while (calls.length > 0) await database.append(chain, calls.splice(0, 4));
      await database.append(chain, [closed]);
    }),
  );
}

test(
  'kill -9 again and again while 5,000 entries are appended loses and doubles nothing',
  { skip: noDatabase },
  async (t) => {
    const file = join(folder, 'killed.ndjson');
    const appending = { done: false };
    const appended = appendMany('s_killed', 5_000).finally(() => {
      appending.done = true;
    });
    let kills = 0;
    let tornBefore = 0;
    while (!appending.done || kills < 8) {
      const before = await countLines(file);
      const exporter = start(file);
      // it must have shipped something, or all the kills would fall into its start
      await until('progress', async () => appending.done || (await countLines(file)) > before);
      assert.equal(await end(exporter, 'SIGKILL'), 'SIGKILL');
      kills += 1;
      tornBefore = before;
    }
    await appended;
    t.diagnostic(`${kills} kills`);
    assert.ok(kills >= 8 && tornBefore > 0);
    const last = start(file);
    await shipped(file, await logSize());
    assert.equal(await end(last, 'SIGTERM'), 0);
    await assertWhole(file);
  },
);

test(
  'two exporters on one log and one file do no harm, and the second takes over from a killed first',
  { skip: noDatabase },
  async () => {
    const file = join(folder, 'two.ndjson');
    const exporters = [start(file), start(file)];
    await appendMany('s_two', 500);
    await shipped(file, await logSize());
    const leading = exporters.find((exporter) => exporter.log().includes('exporter is leading'));
    const other = exporters.find((exporter) => exporter !== leading);
    assert.ok(leading !== undefined && other !== undefined);
    assert.ok(!other.log().includes('exporter is leading'), 'one leads');
    await end(leading, 'SIGKILL');
    await appendMany('s_two_more', 500);
    await shipped(file, await logSize());
    await end(other, 'SIGTERM');
    await assertWhole(file);
  },
);

test(
  'a leader that is frozen past its connection’s end and wakes does no harm',
  { skip: noDatabase },
  async () => {
    const file = join(folder, 'frozen.ndjson');
    const first = start(file);
    await until('a leader', () => first.log().includes('exporter is leading'));
    first.child.kill('SIGSTOP');
    await endConnections();
    const second = start(file);
    await appendMany('s_frozen', 300);
    await shipped(file, await logSize());
    first.child.kill('SIGCONT');
    await until('the frozen one stands by', () =>
      /exporter is disconnected[^]*exporter is standby/.test(first.log()),
    );
    await appendMany('s_thawed', 300);
    await shipped(file, await logSize());
    await Promise.all([end(first, 'SIGTERM'), end(second, 'SIGTERM')]);
    await assertWhole(file);
  },
);

async function endConnections(): Promise<void> {
  await database.owner.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lemniscate-audit-exporter'
     AND datname = current_database()`,
  );
}

test('Postgres may end its connections and be away for a while', { skip: noDatabase }, async (t) => {
  const file = join(folder, 'outage.ndjson');
  const proxy = await startProxy(t);
  const exporter = start(file, { DATABASE_URL: proxy.url });
  await until('a leader', () => exporter.log().includes('exporter is leading'));
  await appendMany('s_outage', 100);
  await endConnections();
  await appendMany('s_outage_2', 100);
  await shipped(file, await logSize());
  proxy.cut();
  await appendMany('s_outage_3', 100);
  await until('it notices', () => /no connection to the record/.test(exporter.log()));
  proxy.mend();
  await shipped(file, await logSize());
  assert.equal(await end(exporter, 'SIGTERM'), 0);
  await assertWhole(file);
});

interface Proxy {
  readonly url: string;
  cut(): void;
  mend(): void;
}

/** A way to Postgres that can be cut. */
async function startProxy(t: TestContext): Promise<Proxy> {
  const target = new URL(database.url);
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((near) => {
    if (!whole) return near.destroy();
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: url.href, cut, mend: () => (whole = true) };
}

test(
  'a signal that the dispatcher sends ships at once, health says how far it is, SIGTERM flushes',
  { skip: noDatabase },
  async () => {
    const file = join(folder, 'health.ndjson');
    const port = await freePort();
    const exporter = start(file, { LEMNISCATE_EXPORTER_PORT: String(port) });
    const health = async (path: string): Promise<{ status: number; body: Record<string, unknown> }> => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    await until('a leader', () => exporter.log().includes('exporter is leading'));
    await shipped(file, await logSize());
    await database.append(sessionChain('s_health'), [opened, executed(1)]);
    await database.owner.query(`SELECT pg_notify('lemniscate_audit', '')`);
    await shipped(file, await logSize());
    await until('no lag', async () => {
      const [sink] = (await health('/healthz')).body['sinks'] as { behind: number }[];
      return sink?.behind === 0;
    });
    const { status, body } = await health('/readyz');
    assert.equal(status, 200);
    assert.deepEqual(body, {
      role: 'leading',
      pending: 0,
      size: await logSize(),
      sealFailure: null,
      sinks: [{ name: `file:${file}`, behind: 0, lagSeconds: 0, setAside: 0, failure: null }],
    });
    assert.equal((await health('/none')).status, 404);
    await database.append(sessionChain('s_health'), [executed(2), closed]);
    assert.equal(await end(exporter, 'SIGTERM'), 0);
    await assertWhole(file);
  },
);

test(
  'a sink that fails is told and retried, others of the log go on, nothing is lost',
  { skip: noDatabase },
  async () => {
    const file = join(folder, 'failing.ndjson');
    await writeFile(file, 'something else\n');
    const port = await freePort();
    const exporter = start(file, { LEMNISCATE_EXPORTER_PORT: String(port) });
    await until('the failure', () => exporter.log().includes('does not end in a line of the audit log'));
    assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 503);
    await appendMany('s_failing', 50);
    await until('ordering goes on', async () => {
      const { rows } = await database.owner.query('SELECT FROM audit_pending LIMIT 1');
      return rows.length === 0;
    });
    await rm(file);
    await shipped(file, await logSize());
    await end(exporter, 'SIGTERM');
    await assertWhole(file);
  },
);

test(
  'a file that holds entries of another log stops the sink with what to do',
  { skip: noDatabase },
  async () => {
    const file = join(folder, 'foreign.ndjson');
    const line = (await readSinkFile(join(folder, 'killed.ndjson'))).at(-1);
    await writeFile(file, `${JSON.stringify({ ...line, index: 10_000_000 })}\n`);
    const exporter = start(file);
    await until('the failure', () => exporter.log().includes('"code":"audit_chain_broken"'));
    assert.match(exporter.log(), /holds entry 10000000, which is not this log's/);
    await end(exporter, 'SIGTERM');
    assert.equal((await readSinkFile(file)).length, 1);
  },
);

test(
  'it ends when its parent is gone, and says what is wrong with its variables',
  { skip: noDatabase },
  async () => {
    const orphan = start(join(folder, 'orphan.ndjson'));
    await until('a leader', () => orphan.log().includes('exporter is leading'));
    orphan.child.stdin?.end();
    await until('its end', () => orphan.child.exitCode !== null);
    assert.equal(orphan.child.exitCode, 0);
    running.delete(orphan);
    const misled = startExporterProcess({ DATABASE_URL: 'mysql://x', LEMNISCATE_EXPORTER_PORT: 'ten' });
    await until('its end', () => misled.child.exitCode !== null);
    assert.equal(misled.child.exitCode, 1);
    assert.match(misled.log(), /DATABASE_URL: must be a URL that begins with postgres/);
    assert.match(misled.log(), /LEMNISCATE_EXPORTER_PORT: must be a whole number/);
  },
);
