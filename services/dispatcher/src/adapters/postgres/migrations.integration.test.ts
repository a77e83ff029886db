import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { createTestDatabase } from '../../testing/test-database.ts';
import type { TestDatabase } from '../../testing/test-database.ts';
import { migrationsFolder } from './migrations.ts';

// Versions live side by side during an upgrade, and an upgrade may be taken back: the schema of one version must do for
// the one before, and each step must have its way back.

let database: TestDatabase;
let client: Client;
before(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url.href });
  await client.connect();
  await client.query("SET client_min_messages = 'warning'");
});
after(async () => {
  await client.end();
  await database.drop();
});

const run = (direction: 'up' | 'down', folder = migrationsFolder, count?: number) =>
  runner({
    dbClient: client,
    dir: folder,
    direction,
    migrationsTable: 'schema_migrations',
    checkOrder: true,
    singleTransaction: true,
    ...(count === undefined ? {} : { count }),
    logger: { info: () => undefined, debug: () => undefined, warn: () => undefined, error: () => undefined },
  });

/** Tables, columns and indexes as they are. */
async function shape(): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(
    `SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' ||
       coalesce(column_default, '') AS line FROM information_schema.columns WHERE table_schema = 'public'
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
  );
  return rows.map(({ line }) => line);
}

const files = readdirSync(migrationsFolder).sort((left, right) => left.localeCompare(right));

test('the last steps can be taken back one by one and done again, and the schema is the same', async () => {
  await run('up');
  const whole = await shape();
  const steps = 4;
  const shapes: string[][] = [];
  for (let step = 0; step < steps; step += 1) {
    assert.equal((await run('down', migrationsFolder, 1)).length, 1);
    shapes.push(await shape());
  }
  assert.notDeepEqual(shapes.at(-1), whole, 'nothing was taken back');
  for (let step = steps - 1; step > 0; step -= 1) {
    await run('up', migrationsFolder, 1);
    assert.deepEqual(await shape(), shapes[step - 1]);
  }
  await run('up');
  assert.deepEqual(await shape(), whole);
});

test('the command that the page of upgrades has for the way back takes one step back', async () => {
  await run('up');
  const whole = await shape();
  const root = join(migrationsFolder, '../../..');
  const page = readFileSync(join(root, 'docs/operations/upgrade.md'), 'utf8');
  const [, words = assert.fail()] = /`npx node-pg-migrate ([^`]+)`/.exec(page) ?? [];
  execFileSync(join(root, 'node_modules/.bin/node-pg-migrate'), words.split(' '), {
    cwd: root,
    stdio: 'pipe',
    env: { ...process.env, DATABASE_URL: database.url.href },
  });
  assert.deepEqual(
    (await run('up')).map(({ name }) => `${name}.sql`),
    files.slice(-1),
  );
  assert.deepEqual(await shape(), whole);
});

test('the version before starts on the schema of this one', async (t) => {
  await run('up');
  const whole = await shape();
  const before = mkdtempSync(join(tmpdir(), 'lemniscate-before-'));
  t.after(() => rmSync(before, { recursive: true, force: true }));
  for (const file of files.slice(0, -1)) cpSync(join(migrationsFolder, file), join(before, file));
  assert.deepEqual(await run('up', before), []);
  assert.deepEqual(await shape(), whole);
});

/** What a step does to tables that it does not make itself, where the version before could not live with it. */
function breaks(sql: string): string[] {
  const up = (sql.split('-- Down Migration')[0] ?? '').replaceAll(/--[^\n]*/g, '');
  const own = new Set([...up.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi)].map((match) => match[1]));
  return up
    .split(';')
    .filter((statement) => !own.has(/ALTER TABLE (?:ONLY )?(\w+)/i.exec(statement)?.[1] ?? ''))
    .flatMap((statement) => {
      const faults: string[] = [];
      if (/DROP (TABLE|COLUMN)|\bRENAME\b/i.test(statement)) faults.push('takes away or renames');
      if (/SET NOT NULL|ALTER COLUMN \w+ (SET DATA )?TYPE/i.test(statement)) faults.push('tightens a column');
      for (const [column] of statement.matchAll(/ADD COLUMN[^,;]*/gi))
        if (/NOT NULL/i.test(column) && !/DEFAULT|GENERATED/i.test(column)) faults.push('asks for a value');
      return faults.map((fault) => `${fault}: ${statement.trim().slice(0, 80)}`);
    });
}

test('no step from the first release on breaks the version before', () => {
  // Steps up to this one belong to the first release, before which there was no version.
  const firstRelease = '0210';
  const later = files.filter((file) => file.slice(0, 4) > firstRelease);
  assert.ok(later.length > 0);
  const faults = later.flatMap((file) =>
    breaks(readFileSync(join(migrationsFolder, file), 'utf8')).map((fault) => `${file} ${fault}`),
  );
  assert.deepEqual(faults, []);
  const bad = 'ALTER TABLE sessions ADD COLUMN x text NOT NULL; ALTER TABLE usage DROP COLUMN model';
  assert.equal(breaks(bad).length, 2);
  assert.deepEqual(breaks('CREATE TABLE n (a int); ALTER TABLE n ALTER COLUMN a SET NOT NULL'), []);
});
