import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';

/** Every test that a row names, as file and title. */
function namedTests(row: string): { file: string; title: string }[] {
  let file = '';
  return [...row.matchAll(/(?:`([^`]+\.ts)`|same file) “([^”]+)”/g)].map((match) => {
    file = match[1] ?? file;
    return { file, title: match[2] ?? '' };
  });
}

const rowsOf = (page: string): string[] =>
  readFileSync(join(projectRoot, 'docs/operations', page), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!threat|rule|-)/.test(line));

test('every threat and every rule of governance and of the audit log names a test that exists', () => {
  const pages = [rowsOf('security-model.md'), rowsOf('governance-proof.md'), rowsOf('audit-proof.md')];
  for (const rows of pages) assert.ok(rows.length >= 20);
  const rows = pages.flat();
  for (const row of rows) {
    const named = namedTests(row);
    assert.ok(named.length > 0, `no test is named: ${row}`);
    for (const { file, title } of named) {
      assert.ok(existsSync(join(projectRoot, file)), `there is no ${file}`);
      assert.ok(
        readFileSync(join(projectRoot, file), 'utf8').includes(title),
        `${file} has no test “${title}”`,
      );
    }
  }
});

test('a row is read with all its tests', () => {
  assert.deepEqual(namedTests('| a | b | `x.test.ts` “one”; same file “two” |'), [
    { file: 'x.test.ts', title: 'one' },
    { file: 'x.test.ts', title: 'two' },
  ]);
});
