import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { keyPrefixes, objectKey } from '../ports/object-store.ts';
import { incomingKey } from '../uploads/upload-row.ts';
import { contentKey } from '../content/retain-content.ts';
import { wordStores } from './where-words-lie.ts';

let record: TestRecord;
let owner: Client;
before(async () => {
  record = await createTestRecord();
  owner = new Client({ connectionString: record.url.href });
  await owner.connect();
});
after(async () => {
  await owner.end();
  await record.close();
});

/**
 * Columns that hold no words, by how their names end: ids, digests, who did something (erased by a table and a test of their
 * own), and the words of the field.
 */
const wordless = [
  /(^|_)id$/,
  /_(digest|sha256|hash|commit)$/,
  /^(digest|sha256|prev)$/,
  /_by$/,
  /_kind$/,
  /_key$/,
  /^(kind|state|type|cause|scope|tier|how|act|rule|phase|runtime|model|provider|driver|surface|execution|status)$/,
  /^(subject|owner|caller|pinned_to|assigned_to)$/,
];

/** The others that hold none: figures, codes, names of parts of the fleet, and the log's own material. */
const others: Readonly<Record<string, readonly string[]>> = {
  account_links: ['source', 'account'],
  agent_server_lists: ['dispatcher', 'servers'],
  agent_servers: ['url', 'pool', 'status', 'origin'],
  approvals: ['tool'],
  attempts: ['reported_usage'],
  audit_chains: ['chain'],
  audit_checkpoints: ['root', 'frontier', 'note'],
  audit_dead_letters: ['sink', 'reason'],
  audit_entries: ['chain', 'body'],
  audit_exporter_key: ['key'],
  audit_exporter_settings: ['name', 'commitment'],
  audit_identity: ['origin'],
  audit_keys: ['name', 'key'],
  audit_log: ['chain'],
  audit_log_keys: ['key'],
  audit_pending: ['chain'],
  audit_people: ['pseudonym'],
  audit_resends: ['sink', 'refused'],
  audit_sinks: ['name'],
  audit_tiles: ['hashes'],
  budget_extensions: ['used', 'grants'],
  content_keys: ['wrapped'],
  cost_budgets: ['name'],
  cost_days: ['agent'],
  cost_entries: ['agent', 'price_book', 'served_model'],
  cost_served_days: ['served_model'],
  cost_sessions: ['agent', 'price_book'],
  cost_slices: ['name'],
  credentials: ['name', 'wrapped'],
  deliveries: ['reason', 'agent'],
  environments: ['key'],
  hooks: ['source', 'disabled_reason'],
  idempotency_keys: ['key'],
  inbox_items: ['about'],
  login_flows: ['state'],
  memory_carries: ['from_project'],
  notices: ['about'],
  notify_targets: ['disabled_reason'],
  object_comments: ['reply_to', 'url', 'thread'],
  object_removals: ['key'],
  objects: ['source', 'url'],
  outbox: ['placement_class', 'lane', 'failures'],
  pool_prices: ['pool'],
  pool_settings: ['pool'],
  project_policies: ['origin'],
  project_retention: ['rules'],
  projects: ['pool', 'architecture'],
  queue_book: ['placement_class', 'lanes'],
  queue_clocks: ['pool'],
  queue_cursors: ['placement_class', 'lane'],
  queue_deficits: ['placement_class', 'lane'],
  receipts: ['origin'],
  remote_tools: ['server', 'tool'],
  role_bindings: ['principal', 'role'],
  schema_migrations: ['name'],
  server_invitations: ['pool'],
  service_settings: ['service', 'name', 'commitment'],
  service_tokens: ['roles', 'scopes'],
  session_grants: ['tool'],
  session_origins: ['agent'],
  session_pauses: ['reason'],
  sessions: [
    'reason',
    'pinned_server',
    'timings_ms',
    'stop_reason',
    'bounds',
    'placement_class',
    'priority',
    'lane',
    'pause_requested',
    'agent',
    'client_run',
    'ancestors',
    'delegated_call',
    'trace_context',
    'environment',
    'builds_environment',
    'waits_for_environment',
  ],
  tool_calls: ['tool', 'verdict'],
  triggers: ['disabled_reason'],
  usage: [
    'served_tier',
    'served_model',
    'served',
    'price_book',
    'gateway',
    'endpoint',
    'prices',
    'fallback_for',
  ],
};

interface Column {
  readonly table: string;
  readonly name: string;
}

/** Every column that could hold words. */
async function columns(): Promise<Column[]> {
  const { rows } = await owner.query<Column>(
    `SELECT c.table_name AS table, c.column_name AS name FROM information_schema.columns c
     JOIN pg_tables t ON t.tablename = c.table_name AND t.schemaname = c.table_schema
     WHERE c.table_schema = 'public' AND c.udt_name IN ('text', '_text', 'varchar', 'name', 'json', 'jsonb', 'bytea', 'xml')
     ORDER BY 1, 2`,
  );
  return rows;
}

const known = new Set(wordStores.flatMap(({ columns: all }) => all));
const isKnown = ({ table, name }: Column): boolean =>
  known.has(`${table}.${name}`) ||
  (others[table] ?? []).includes(name) ||
  wordless.some((pattern) => pattern.test(name));
const full = ({ table, name }: Column): string => `${table}.${name}`;

test('every column that can hold words is in a line of the table, or has none', async () => {
  const all = await columns();
  assert.ok(all.length > 300);
  assert.deepEqual(
    all.filter((column) => !isKnown(column)).map(full),
    [],
    'add the column to where-words-lie.ts with what ends it, or say here why it holds no words',
  );
  const there = new Set(all.map(full));
  const said = Object.entries(others).flatMap(([table, names]) => names.map((name) => `${table}.${name}`));
  assert.deepEqual(
    [...known, ...said].filter((column) => !there.has(column)),
    [],
    'a column that is gone',
  );
});

test('a new column of words is found', async () => {
  await owner.query('ALTER TABLE sessions ADD COLUMN summary text');
  await owner.query('CREATE TABLE diaries (id text, entry jsonb)');
  const unknown = (await columns()).filter((column) => !isKnown(column)).map(full);
  await owner.query('DROP TABLE diaries');
  await owner.query('ALTER TABLE sessions DROP COLUMN summary');
  assert.deepEqual(unknown, ['diaries.entry', 'sessions.summary']);
});

test('the store takes no key that is in no line of the table', async () => {
  const begins = new Set(wordStores.flatMap(({ prefixes = [] }) => prefixes));
  assert.deepEqual([...begins].toSorted(), [...keyPrefixes].toSorted());
  const upload = incomingKey({ id: 'u_1', owner: 'person:ada' });
  for (const key of [objectKey('local', 'a'.repeat(64)), upload, contentKey('local', 's_1', 0)])
    assert.ok(
      [...begins].some((prefix) => key.startsWith(prefix)),
      key,
    );
  const bytes = Buffer.from('words');
  const elsewhere = 'transcripts/s_1';
  await assert.rejects(record.objects.put(elsewhere, bytes), { code: 'internal' });
  await assert.rejects(record.objects.presignPut(elsewhere, { sha256: 'a'.repeat(64), bytes: 5 }, 60), {
    code: 'internal',
  });
  await assert.rejects(record.objects.adopt(upload, elsewhere, { sha256: 'a'.repeat(64), bytes: 5 }), {
    code: 'internal',
  });
});

test('the page for people has a line for every store, with the same end', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/operations/audit-log.md'), 'utf8');
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  for (const { store, ends } of wordStores) {
    const row = cells.find((each) => each[1] === store);
    assert.equal(row?.[4], ends, store);
  }
});
