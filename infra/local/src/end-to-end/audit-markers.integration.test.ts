import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { before, test } from 'node:test';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { sessionPageSchema, sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { Client } from 'pg';
import { z } from 'zod';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { fileSays } from './file-says.ts';
import { endFleet, makeRepository, runSession, startTestFleet } from './test-fleet.ts';
import type { FollowedSession, TestFleet } from './test-fleet.ts';

// Markers in every channel through which content comes into the fleet. None may be found where content must not be:
// in the log's rows, in what the sinks got, and in what the services write about themselves.

let site: TestFleet;
const marker = (channel: string): string => `PLANTED${channel}MARKER`;
const planted = /PLANTED[a-z]+MARKER/;

/** What a receiver outside got, as it came. */
const payloads: string[] = [];
const receiver = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.once('end', () => {
    payloads.push(text);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    receiver.emit('answered');
  });
});
/** Sealed segments in the tests' own bucket. */
const s3 = process.env['LEMNISCATE_TEST_S3_ENDPOINT'];
const segments = {
  kind: 's3',
  endpoint: s3,
  bucket: `markers-${process.pid}`,
  accessKeyId: 'k',
  secretAccessKey: { env: 'LEMNISCATE_MARKERS_KEY' },
};
async function readSegments(): Promise<Map<string, string>> {
  const bucket = `${s3}/${segments.bucket}`;
  const listed = await (await fetch(`${bucket}?list-type=2`)).text();
  const keys = [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
  return new Map(
    await Promise.all(
      keys.map(async (key) => [key, await (await fetch(`${bucket}/${key}`)).text()] as const),
    ),
  );
}
const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-markers-'));

const undo = undoneAfterTests();
undo.defer(() => rmSync(scratch, { recursive: true, force: true }));
before(async () => {
  receiver.listen(0, '127.0.0.1');
  undo.defer(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const sinks = join(scratch, 'sinks.json');
  writeFileSync(
    sinks,
    JSON.stringify({
      sinks: [{ kind: 'ocsf', url }, { kind: 'otlp', url }, ...(s3 === undefined ? [] : [segments])],
    }),
  );
  if (s3 !== undefined)
    assert.equal((await fetch(`${s3}/${segments.bucket}`, { method: 'PUT' })).status, 200);
  site = undo.adopt(
    await startTestFleet({
      LEMNISCATE_MARKERS_KEY: 's',
      PLANTED_ENVIRONMENT: marker('environment'),
      LEMNISCATE_CHECKPOINT_SECONDS: '1',
      LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
      LEMNISCATE_SINKS: sinks,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    }),
    endFleet,
  );
});

/** Every line of a folder's files that holds a marker, as `file: line`. */
function findMarkers(folder: string): { lines: number; all: readonly string[]; found: string[] } {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const texts = files.map(
    ({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')] as const,
  );
  const lines = texts.flatMap(([name, text]) => text.split('\n').map((line) => `${name}: ${line}`));
  return { lines: lines.length, all: lines, found: lines.filter((line) => planted.test(line)) };
}

/** All that the tables of the log hold; bytes as the text that they are. */
async function auditRows(): Promise<string[]> {
  const record = new Client({ connectionString: site.fleet.stores.databaseUrl });
  await record.connect();
  try {
    const tables = await record.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'audit%'`,
    );
    const found: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await record.query<Record<string, unknown>>(`SELECT * FROM "${name}"`);
      for (const row of rows)
        found.push(
          Object.values(row)
            .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
            .join(' '),
        );
    }
    return found;
  } finally {
    await record.end();
  }
}

/** A session whose commands log in with a credential, and show that they have it. */
async function runWithCredential(): Promise<FollowedSession> {
  const { client } = site;
  const credentials = [{ name: 'DEPLOY_TOKEN', reference: 'vault:DEPLOY_TOKEN' }];
  const policy = 'tools: {run_command: allow}\nfreeCommands: [sh]\ncredentials: [DEPLOY_TOKEN]\n';
  await client.open('/v1/projects', { method: 'POST', body: { id: 'keys', policy } });
  await client.open('/v1/agents', {
    method: 'POST',
    body: { id: 'keeper', project: 'keys', definition: { credentials } },
  });
  await client.open('/v1/agents/keeper/credentials/DEPLOY_TOKEN', {
    method: 'PUT',
    body: { value: marker('credential') },
    headers: { 'if-match': '"0"' },
  });
  return runSession(site, {
    repositoryFolder: makeRepository(site.scratch, 'keys', {
      'show.sh': 'printf %s "$DEPLOY_TOKEN" | sha256sum; echo "it is $DEPLOY_TOKEN"\n',
    }),
    project: 'keys',
    agent: 'keeper',
    instruction: 'run `sh show.sh`',
  });
}

/** Files below a folder that hold a text, whatever they are: tables, logs of changes, objects, journals. */
function filesWith(folder: string, text: string): string[] {
  const found = spawnSync('grep', ['-rlaF', '--', text, folder], { encoding: 'utf8' });
  assert.ok([0, 1].includes(found.status ?? 2), found.stderr);
  return found.stdout.split('\n').filter((file) => file !== '');
}

test('no planted marker reaches an audit entry, a sink or a service log', async () => {
  const folder = makeRepository(site.scratch, 'planted', {
    'notes.txt': `${marker('file')}\n`,
    'fail.mjs': `console.log('${marker('output')}'); throw new Error('${marker('error')}');\n`,
    'package.json': JSON.stringify({ name: 'x', scripts: { test: 'cat notes.txt; node fail.mjs' } }),
  });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder });
  git('checkout', '-qb', marker('branch'));
  git(
    '-c',
    `user.name=${marker('author')}`,
    '-c',
    'user.email=a@x',
    'commit',
    '-qm',
    marker('commit'),
    '--allow-empty',
  );
  const outcomes: Awaited<ReturnType<typeof runSession>>[] = [];
  const asked = [
    'run `npm test`',
    `Fix the failing test. ${marker('instruction')}`,
    // refused, with a reason that quotes it
    `run \`mv notes.txt /dev/${marker('command')}\``,
  ];
  for (const instruction of asked)
    outcomes.push(await runSession(site, { repositoryFolder: folder, instruction }));
  const mended = makeRepository(site.scratch, 'mended', {
    'sum.js': `export function sum(a, b) {\n  // ${marker('diff')}\n  return a - b;\n}\n`,
    'sum.test.js': [
      "import assert from 'node:assert/strict';",
      "import { test } from 'node:test';",
      "import { sum } from './sum.js';",
      "test('sums', () => assert.equal(sum(2, 3), 5));\n",
    ].join('\n'),
    'package.json': JSON.stringify({ name: 'mended', type: 'module', scripts: { test: 'node --test' } }),
  });
  outcomes.push(await runSession(site, { repositoryFolder: mended }));
  const keys = await runWithCredential();
  outcomes.push(keys);
  const said = JSON.stringify(keys.events);
  assert.ok(said.includes(createHash('sha256').update(marker('credential')).digest('hex')), said);
  assert.ok(said.includes('it is [credential:DEPLOY_TOKEN]'));
  // what git says of a branch and of a folder that are not there quotes them; whoever opened the session reads it there
  const away: RepositorySource[] = [
    { kind: 'path', path: folder, revision: marker('revision') },
    { kind: 'path', path: join(site.scratch, marker('folder')) },
  ];
  const unlaid: SessionView[] = [];
  for (const repository of away) {
    const session = await runFrom(site, repository);
    assert.match(session.message ?? '', planted);
    unlaid.push(session);
  }
  // and in a header of a request that is refused, and in one that is answered
  const { token, subject, name } = z
    .object({ token: z.string(), subject: z.string(), name: z.string() })
    .parse(JSON.parse(readFileSync(site.fleet.tokenFile, 'utf8')));
  for (const authorization of [`Bearer ${marker('token')}`, `Bearer ${token}`]) {
    const headers = {
      authorization,
      'x-note': marker('header'),
      'user-agent': marker('agent'),
      traceparent: marker('trace'),
      baggage: `user=${marker('baggage')}`,
    };
    await fetch(`${site.fleet.apiUrl}/v1/sessions?limit=1&${marker('query')}=1`, { headers });
  }
  const [ran, fixed, refused, made] = outcomes;
  assert.ok(ran !== undefined && fixed !== undefined && refused !== undefined && made !== undefined);
  assert.ok(made.patch.includes(marker('diff')), 'the diff has its marker');
  // the test can fail: what holds content does hold the markers
  const shown = JSON.stringify(ran.events);
  for (const channel of ['file', 'output', 'error']) assert.ok(shown.includes(marker(channel)), channel);
  assert.ok(JSON.stringify(refused.events).includes(`under /dev/ (/dev/${marker('command')})`));
  assert.equal(fixed.session.instruction.includes(marker('instruction')), true);

  const data = site.environment['LEMNISCATE_DATA'] ?? assert.fail();
  const isShipped = (text: string, id: string): boolean =>
    text.includes(`"chain":"session:${id}"`) &&
    text.split(`"chain":"session:${id}"`).at(-1)?.includes('chain.closed') === true;
  await fileSays(join(data, 'audit/entries.ndjson'), 'the sessions reach the sink', (text) =>
    [...outcomes.map(({ session }) => session), ...unlaid].every(({ id }) => isShipped(text, id)),
  );
  // a credential is nowhere in what the fleet keeps, its rows included; what was said by name and what ran is
  assert.deepEqual(filesWith(data, marker('credential')), []);
  assert.ok(filesWith(data, marker('instruction')).length > 0, 'what is kept can be looked into');
  const audit = findMarkers(join(data, 'audit'));
  assert.ok(audit.lines > 20);
  assert.deepEqual(audit.found, []);
  // every row of the log's own tables, as text and as bytes: entries, what waits for its index, dead letters
  const rows = await auditRows();
  assert.ok(rows.length > 100, 'hardly a row was read');
  assert.deepEqual(
    rows.filter((row) => planted.test(row)),
    [],
  );
  // base64 bodies too
  for (const line of readFileSync(join(data, 'audit/entries.ndjson'), 'utf8').trimEnd().split('\n')) {
    const { body } = z.object({ body: z.string() }).parse(JSON.parse(line));
    assert.doesNotMatch(Buffer.from(body, 'base64').toString(), planted);
  }
  const receivedEverything = (): boolean =>
    outcomes.every(({ session }) => payloads.some((text) => text.includes(`session:${session.id}`)));
  const deadline = AbortSignal.timeout(20_000);
  while (!receivedEverything()) await once(receiver, 'answered', { signal: deadline });
  // spans and metrics, of which every session has both; and what a scraper reads
  const traced = (id: string): boolean =>
    payloads.some(
      (text) => text.includes('resourceSpans') && text.includes('execute_tool') && text.includes(id),
    );
  while (
    !outcomes.every(({ session }) => traced(session.id)) ||
    !payloads.some((text) => text.includes('resourceMetrics'))
  )
    await once(receiver, 'answered', { signal: deadline });
  const people = [token, JSON.stringify(subject), JSON.stringify(name)];
  for (const text of payloads.filter(
    (one) => one.includes('resourceSpans') || one.includes('resourceMetrics'),
  ))
    for (const who of people) assert.ok(!text.includes(who), `${who} is in a span or a metric`);
  const scraped = await fetch(`${site.fleet.apiUrl}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(scraped.status, 200);
  assert.doesNotMatch(await scraped.text(), planted);
  assert.deepEqual(
    payloads.filter((text) => planted.test(text)),
    [],
  );
  if (s3 !== undefined) {
    const sealed = async (): Promise<boolean> => {
      const objects = await readSegments();
      const all = [...objects.values()].join('');
      return (
        outcomes.every(({ session }) => isShipped(all, session.id)) &&
        [...objects.keys()].some((key) => key.includes('manifests/'))
      );
    };
    while (!(await sealed())) await once(receiver, 'answered', { signal: deadline });
    for (const [key, text] of await readSegments()) {
      assert.doesNotMatch(text, planted, key);
      for (const [, body = ''] of text.matchAll(/"body":"([A-Za-z0-9+/=]+)"/g))
        assert.doesNotMatch(Buffer.from(body, 'base64').toString(), planted, key);
    }
  }
  const logs = findMarkers(join(data, 'logs'));
  assert.ok(logs.lines > 20, 'hardly a line was read');
  const failures = logs.all.filter((line) => line.includes('the session could not go on'));
  assert.deepEqual(
    unlaid.map(({ id }) => failures.some((line) => line.includes(id) && line.includes('"code":"re'))),
    [true, true],
    failures.join('\n'),
  );
  assert.deepEqual(logs.found, []);
});

test('the fleet’s own export verifies offline with the public key alone, up to its last checkpoint', async () => {
  const data = site.environment['LEMNISCATE_DATA'] ?? assert.fail();
  const [file, key] = [join(data, 'audit/entries.ndjson'), join(data, 'secrets/audit-log-key.pem.pub')];
  const deadline = performance.now() + 20_000;
  let result = verifyOffline(file, key);
  while (result.sealed.covered < result.entries && performance.now() < deadline)
    result = verifyOffline(file, key);
  assert.equal(result.verified, true);
  assert.ok(result.entries > 20 && result.sealed.checkpoints > 1);
  assert.equal(result.sealed.covered, result.entries);
});

test('evidence of one session, asked of the fleet, verifies offline and has no word of it', async () => {
  const data = site.environment['LEMNISCATE_DATA'] ?? assert.fail();
  const key = join(data, 'secrets/audit-log-key.pem.pub');
  const { sessions } = await site.client.json('/v1/sessions?limit=1', sessionPageSchema);
  const session = sessions[0]?.id ?? assert.fail();
  const out = join(scratch, 'session.evidence');
  const args = [cli, 'audit', 'evidence', '--session', session, '--key', key, '--out', out];
  const { NODE_TEST_CONTEXT: _context, ...env } = site.environment;
  await promisify(execFile)(process.execPath, args, { env });
  const result = verifyOffline(out, key);
  assert.equal(result.verified, true);
  assert.ok(result.entries > 3 && result.sealed.covered > result.entries);
  for (const [, body = ''] of readFileSync(out, 'utf8').matchAll(/"body":"([A-Za-z0-9+/=]+)"/g))
    assert.doesNotMatch(Buffer.from(body, 'base64').toString(), planted);
});

test(
  'a copy of the bucket with the sealed segments verifies offline with the public key alone, and a changed one does not',
  { skip: s3 === undefined && 'stores: LEMNISCATE_TEST_S3_ENDPOINT is not set' },
  async () => {
    const data = site.environment['LEMNISCATE_DATA'] ?? assert.fail();
    const key = join(data, 'secrets/audit-log-key.pem.pub');
    const bucket = join(scratch, 'copy');
    const copy = join(bucket, 'audit');
    // listing takes its time, and the exporter writes on meanwhile: the fleet stops first
    await site.fleet.stop();
    for (const [name, text] of await readSegments()) {
      mkdirSync(join(bucket, name, '..'), { recursive: true });
      writeFileSync(join(bucket, name), text);
    }
    const result = verifyOffline(copy, key);
    assert.equal(result.verified, true);
    assert.ok(result.entries > 20 && result.sealed.checkpoints > 1 && result.sealed.covered > 20);
    const [segment] = readdirSync(join(copy, 'segments'));
    const file = join(copy, 'segments', segment ?? assert.fail());
    writeFileSync(file, readFileSync(file, 'utf8').replace('"seq":', '"seq": '));
    const changed = verifyOffline(copy, key);
    assert.deepEqual([changed.verified, changed.faults[0]?.fault], [false, 'segment_differs']);
  },
);

/** A session on a repository that is named and not sent. */
async function runFrom({ client }: TestFleet, repository: RepositorySource): Promise<SessionView> {
  const body = { instruction: 'Fix the failing test.', execution: 'server', repository };
  const opened = await client.json('/v1/sessions', sessionViewSchema, { method: 'POST', body });
  const signal = AbortSignal.timeout(60_000);
  const events = followSession(client, { sessionId: opened.id, after: 0, signal, patienceMs: 30_000 });
  for await (const _event of events) continue;
  return client.json(`/v1/sessions/${opened.id}`, sessionViewSchema);
}

interface OfflineResult {
  readonly verified: boolean;
  readonly entries: number;
  readonly faults: readonly { readonly fault: string }[];
  readonly sealed: { readonly covered: number; readonly checkpoints: number };
}

const cli = join(import.meta.dirname, '../../../../clients/cli/bin/lemniscate.mjs');

/** The terminal client with nothing but an export and the public key. */
function verifyOffline(file: string, key: string): OfflineResult {
  const args = [cli, 'audit', 'verify', '--json', '--file', file, '--key', key];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    env: { LEMNISCATE_DATA: scratch },
    encoding: 'utf8',
  });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as OfflineResult;
}
