import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { createLogger } from './log.ts';
import { testVariable } from './testing/test-variable.ts';

const marker = 'PLANTEDvalueMARKER';

test('a fault of Postgres is logged by its state, table and constraint, not by the values in it', async (t) => {
  const client = new Client({ connectionString: testVariable('LEMNISCATE_TEST_DATABASE_URL') });
  await client.connect();
  t.after(() => client.end());
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  await client.query('CREATE TEMP TABLE kept (word text CONSTRAINT kept_once UNIQUE)');
  for (const [text, code] of [
    [`SELECT '${marker}'::uuid`, '22P02'],
    [`INSERT INTO kept VALUES ('${marker}'), ('${marker}')`, '23505'],
  ] as const) {
    const error: unknown = await client.query(text).catch((fault: unknown) => fault);
    assert.ok(error instanceof Error && `${error.message} ${JSON.stringify(error)}`.includes(marker));
    log.error({ err: error }, 'it failed');
    assert.equal((JSON.parse(lines.at(-1) ?? '') as { err: { code: string } }).err.code, code);
  }
  assert.match(lines.at(-1) ?? '', /"table":"kept","constraint":"kept_once"/);
  assert.doesNotMatch(lines.join(''), new RegExp(marker));
});
