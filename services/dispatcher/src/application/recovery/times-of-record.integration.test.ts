import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { timeColumns } from '../../testing/traffic/turn-back.ts';
import { deadlines, lasting, minutes, unmoved } from './times-of-record.ts';

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

/** By their names: when something happened, which no timer asks. A look at the sources below finds one that does. */
const happened =
  /^(at|since|until)$|(^|_)(created|proposed|changed|updated|decided|voted|approved|answered|ended|started|settled|completed|reported|revoked|released|erased|shredded|abandoned|begun|seen|joined|opened|placed|paused|drained|granted|bound|asked|read|done|delivered|requested|attached|pushed|folded|fired|received|summary|used|stopped|last_failure|ticked|first)_at$/;
const runsOut = /expires|deadline|due|until|ready|slot|excluded/;
const others: readonly string[] = [
  'fleet_absences.until',
  'session_pauses.until',
  'outbox.queue_key',
  'queue_book.looked_at',
  'schedule_slots.slot',
];

const full = ({ table, name }: { table: string; name: string }): string => `${table}.${name}`;
const said = new Set([
  ...deadlines.map(({ table, column }) => `${table}.${column}`),
  ...lasting,
  ...minutes,
  ...Object.keys(unmoved),
  ...others,
]);
const unknown = async (): Promise<string[]> =>
  (await timeColumns(owner))
    .filter((column) => !said.has(full(column)) && (!happened.test(column.name) || runsOut.test(column.name)))
    .map(full);

test('every moment of the record at which something may run out is in a line of the table', async () => {
  const all = await timeColumns(owner);
  assert.ok(all.length > 100);
  assert.deepEqual(
    await unknown(),
    [],
    'add the column to times-of-record.ts: does an absence of all dispatchers move it, and if not, why?',
  );
  const there = new Set(all.map(full));
  assert.deepEqual(
    [...said].filter((column) => !there.has(column)),
    [],
    'a column that is gone',
  );
});

test('a new deadline is found', async () => {
  await owner.query('ALTER TABLE sessions ADD COLUMN patience_until timestamptz');
  await owner.query('CREATE TABLE ultimatums (id text, ends timestamptz)');
  const found = await unknown();
  await owner.query('DROP TABLE ultimatums');
  await owner.query('ALTER TABLE sessions DROP COLUMN patience_until');
  assert.deepEqual(found, ['sessions.patience_until', 'ultimatums.ends']);
});

/** First looks, of which a second is the judge, and what is about something else than a session's time. */
const explained: Readonly<Record<string, string>> = {
  'application/recovery/reap-attempts.ts queued_at': 'by the index; fleetAgo judges what it finds',
  'application/recovery/requeue-forgotten.ts queued_at': 'how long a row may be on its way',
  'jobs/budget-watch.ts running_at': 'readWaitedMs judges what it finds',
  'application/gateway/gateway-alive.ts seen_at': 'rows of no use are deleted after an hour',
  'application/recovery/credit-downtime.ts until': 'absences themselves are kept for days',
  'application/retention/forget-memory.ts timestamptz': 'a promise about words that are kept',
  'application/retention/forget-objects.ts changed_at': 'a promise about words that are kept',
  'application/retention/apply-retention.ts expires_at': 'a promise about words that are kept',
  'application/access/login-flows.ts expires_at': 'a secret',
  'application/access/logins.ts expires_at': 'a secret',
  'application/access/service-tokens.ts expires_at': 'a secret',
  'application/servers/invite-server.ts expires_at': 'a secret',
};

const sources = join(import.meta.dirname, '../../');
/** Comparisons of a column with the record's clock, as statements write them. */
const compared = /\b([a-z_]+)[,)']*(?: '-infinity'\))? *(?:<=?|>=?) *now\(\)/g;

/** Columns that some statement compares with `now()` itself, absences and all. */
function comparedWithNow(text: string): string[] {
  return [...text.matchAll(compared)].flatMap((match) => match[1] ?? []);
}

test('what is compared with the clock, absences included, is in the table with its reason', () => {
  // Names that some deadline has too are explained file by file.
  const ofDeadlines = new Set(deadlines.map(({ column }) => column));
  const withReason = new Set(
    Object.keys(unmoved)
      .map((column) => column.split('.')[1] ?? '')
      .filter((column) => !ofDeadlines.has(column)),
  );
  const unexplained = globSync('**/*.ts', { cwd: sources })
    .filter((file) => !file.includes('testing/') && !file.endsWith('.test.ts'))
    .flatMap((file) =>
      comparedWithNow(readFileSync(join(sources, file), 'utf8')).map((column) => ({ file, column })),
    )
    .filter(({ file, column }) => !withReason.has(column) && explained[`${file} ${column}`] === undefined);
  assert.deepEqual(
    unexplained,
    [],
    'compare it with fleetNow or fleetAgo, or say in times-of-record.ts why not',
  );
  assert.deepEqual(comparedWithNow("queued_at < now() - interval '1 hour'"), ['queued_at']);
});
