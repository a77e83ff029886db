import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { entriesPageSchema } from '@lemniscate/shared/audit/stored-entry.ts';
import { Client } from 'pg';
import { projectRoot } from '../project-root.ts';
import { startFleet } from '../fleet.ts';
import type { Fleet } from '../fleet.ts';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { assertNothingRuns, makeRepository, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { until } from '../testing/until.ts';

// What an administrator forgets from a terminal, and how the log tells of it; then the same fleet with other settings.

let site: TestFleet;
let again: Fleet | undefined;
before(async () => {
  site = await startTestFleet();
});
after(async () => {
  await again?.stop();
  await site.stop();
  await assertNothingRuns(site.scratch);
});

/** Runs the terminal client. */
async function cli(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const bin = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const { NODE_TEST_CONTEXT: _context, ...env } = site.environment;
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [bin, ...args], { env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout: string; stderr: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout, stderr };
  }
}

async function sql<Row extends object>(text: string, values: readonly string[] = []): Promise<Row[]> {
  const record = new Client({ connectionString: site.fleet.stores.databaseUrl });
  await record.connect();
  try {
    return (await record.query<Row>(text, [...values])).rows;
  } finally {
    await record.end();
  }
}

/** Tables in which a text lies, as text or as bytes. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql(
      `SELECT FROM "${name}" t WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || $2 || '%' LIMIT 1`,
      [text, Buffer.from(text).toString('hex')],
    );
    if (rows.length > 0) found.push(name);
  }
  return found;
}

/** Those of these objects that are in the bucket. */
async function objectsOf(keys: readonly string[]): Promise<string[]> {
  const { endpoint } = site.fleet.stores.s3;
  const there = await Promise.all(
    keys.map(
      async (key) => (await fetch(`${endpoint}/lemniscate/${key}`, { method: 'HEAD' })).status === 200,
    ),
  );
  return keys.filter((_, place) => there[place]);
}

const marker = 'PLANTEDforgottenMARKER';

test('what a hold keeps nobody erases; what is erased from the terminal is found nowhere, and the log stays whole', async () => {
  const repositoryFolder = makeRepository(site.scratch, 'planted', {
    'notes.txt': `${marker}\n`,
    'package.json': JSON.stringify({
      name: 'x',
      scripts: { test: 'cat notes.txt; yes x | head -c 200000; exit 1' },
    }),
  });
  const { session } = await runSession(site, { repositoryFolder, instruction: 'run `npm test`' });
  const told = await runSession(site, {
    repositoryFolder: makeRepository(site.scratch, 'other', { a: 'a' }),
    instruction: `Fix the failing test. ${marker}`,
  });
  const kept = await runSession(site, {
    repositoryFolder: makeRepository(site.scratch, 'kept', { a: 'a' }),
    instruction: 'Fix the failing test. PLANTEDkeptMARKER',
  });
  // the search finds what is there: words in the record, output in objects
  const before = await tablesWith(marker);
  assert.ok(before.includes('sessions'), before.join(' '));
  const segments = await sql<{ key: string }>(
    'SELECT DISTINCT segment_key AS key FROM session_events WHERE session_id = $1 AND segment_key IS NOT NULL',
    [session.id],
  );
  const keys = segments.map(({ key }) => key);
  assert.ok(keys.length > 0);
  assert.deepEqual(await objectsOf(keys), keys);

  const placed = await cli('hold', 'place', '--session', session.id);
  assert.equal(placed.code, 0, placed.stderr);
  const hold = placed.stdout.trim();
  assert.ok((await cli('hold', 'list')).stdout.includes(`${hold}  session ${session.id}`));
  const refused = await cli('erase', 'session', session.id, '--yes');
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /hold/);
  const still = await tablesWith(marker);
  assert.deepEqual(
    before.filter((table) => !still.includes(table)),
    [],
  );
  assert.deepEqual(await objectsOf(keys), keys);
  assert.notEqual((await cli('erase', 'session', session.id)).code, 0, 'erased without --yes');

  assert.equal((await cli('hold', 'release', hold)).code, 0);
  const erased = await cli('erase', 'session', session.id, '--yes');
  assert.equal(erased.code, 0, erased.stderr);
  assert.match(erased.stdout, /^erased: .*\d+ events/);
  assert.ok((await tablesWith(marker)).includes('sessions'), 'the other one is still there');
  assert.equal((await cli('erase', 'session', told.session.id, '--yes')).code, 0);
  assert.deepEqual(await tablesWith(marker), []);
  await until('its objects are gone', async () => (await objectsOf(keys)).length === 0, 90_000);

  const rules = await cli('retention', 'set', session.project, '--logs', '1', '--content', 'off');
  assert.equal(rules.code, 0, rules.stderr);
  assert.match((await cli('retention', 'show', session.project)).stdout, /logs +1 days[^]*content +off/);

  await cli('retention', 'set', session.project, '--logs', 'ever');
  assert.match((await cli('retention', 'show', session.project)).stdout, /logs +for ever/);

  const verified = await cli('audit', 'verify', '--json');
  assert.equal(verified.code, 0, verified.stdout);
  const types = (await entriesOf(`review:${session.project}`)).map(({ type }) => type);
  for (const type of ['hold.placed', 'hold.released', 'session.erased', 'retention.changed'])
    assert.ok(types.includes(type), `${type} in ${types.join(' ')}`);
  // the session beside them lost nothing
  assert.equal((await cli('audit', 'verify', '--session', kept.session.id)).code, 0);
  assert.ok((await tablesWith('PLANTEDkeptMARKER')).includes('sessions'));
});

test('a person is erased from the terminal: the identity is found nowhere, and what the log proves still holds', async () => {
  const grace = 'PLANTEDgraceMARKER@example.org';
  // as a login of hers leaves it: a local fleet logs in nobody but whoever runs it
  await sql(`INSERT INTO people (subject, name, email) VALUES ($1, 'Grace', $1)`, [grace]);
  const acts = [
    ['roles', 'bind', 'member', '--person', grace],
    ['accounts', 'link', 'github', 'planted-account-marker', grace],
  ];
  for (const act of acts) assert.deepEqual((await cli(...act)).stderr, '', act.join(' '));
  const traces = async () => [await tablesWith(grace), await tablesWith('planted-account-marker')];
  const [known = [], linked = []] = await traces();
  // the search finds what is there
  assert.ok(known.includes('audit_people') && known.includes('role_bindings'), known.join(' '));
  assert.ok(linked.includes('account_links'), linked.join(' '));
  assert.ok(!known.includes('audit_entries'), 'the log has the pseudonym alone');

  assert.notEqual((await cli('erase', 'person', grace)).code, 0, 'erased without --yes');
  const stranger = await cli('erase', 'person', 'nobody@example.org', '--yes');
  assert.notEqual(stranger.code, 0);
  assert.match(stranger.stderr, /knows nobody by the name nobody@example\.org/);
  const { subject } = JSON.parse(readFileSync(site.fleet.tokenFile, 'utf8')) as { subject: string };
  assert.match((await cli('erase', 'person', subject, '--yes')).stderr, /Nobody can erase themselves/);
  assert.deepEqual(await traces(), [known, linked]);

  const erased = await cli('erase', 'person', grace, '--yes');
  assert.equal(erased.code, 0, erased.stderr);
  const [, pseudonym = ''] = /^(person:[0-9a-f]{24}) is nobody any more: /.exec(erased.stdout) ?? [];
  assert.notEqual(pseudonym, '', erased.stdout);
  assert.deepEqual(await traces(), [[], []]);
  assert.notEqual((await cli('erase', 'person', grace, '--yes')).code, 0, 'erased a second time');

  const fleet = await entriesOf('fleet:main');
  const told = fleet
    .filter(({ type }) => type === 'person.erased')
    .map(({ envelope }) => envelope.body['person']);
  assert.deepEqual(told, [pseudonym]);
  // the entry that bound the role still speaks of the pseudonym, and every chain is whole
  const bound = fleet.find(
    ({ type, envelope }) => type === 'role.bound' && envelope.body['principal'] === pseudonym,
  );
  assert.notEqual(bound, undefined);
  const verified = await cli('audit', 'verify', '--json');
  assert.equal(verified.code, 0, verified.stdout);
  assert.ok(!verified.stdout.includes(grace));
});

async function entriesOf(
  chain: string,
  client = site.client,
): Promise<{ type: string; at: string; envelope: { subject: string; body: Record<string, unknown> } }[]> {
  const page = await client.json(
    `/v1/audit/chains/${encodeURIComponent(chain)}/entries?after=0&limit=1000`,
    entriesPageSchema,
  );
  return page.entries.map(({ type, at, body }) => ({
    type,
    at,
    envelope: JSON.parse(Buffer.from(body, 'base64').toString()) as {
      subject: string;
      body: Record<string, unknown>;
    },
  }));
}

test('a fleet that starts with other settings says so for each service, agent servers too, and values of secrets never', async () => {
  const settingsOf = async (client = site.client) =>
    (await entriesOf('fleet:main', client)).filter(({ type }) => type === 'config.changed');
  const ofServers = (entries: Awaited<ReturnType<typeof settingsOf>>) =>
    entries.filter(({ envelope }) => envelope.subject.startsWith('spiffe://lemniscate/agent-server/'));
  await until('the first start is told', async () => ofServers(await settingsOf()).length === 2, 60_000);
  const first = await settingsOf();
  assert.ok(ofServers(first).every(({ envelope }) => envelope.body['first'] === true));

  await site.fleet.stop();
  again = await startFleet({
    projectRoot,
    environment: { ...site.environment, LEMNISCATE_WARM_MAX_AGE_SECONDS: '1234' },
    say: () => undefined,
  });
  const { token } = JSON.parse(readFileSync(again.tokenFile, 'utf8')) as { token: string };
  const client = createApiClient({ url: again.apiUrl, token });
  await until(
    'the second start is told',
    async () => ofServers(await settingsOf(client)).length === 4,
    60_000,
  );
  const told = ofServers(await settingsOf(client)).slice(2);
  for (const { envelope } of told) {
    assert.equal(envelope.body['first'], false);
    assert.ok(JSON.stringify(envelope.body['told']).includes('1234'), JSON.stringify(envelope.body));
  }
});
