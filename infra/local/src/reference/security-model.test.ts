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

/** Whether a title is one of a test that runs, and no comment's word: it stands in a call, or in a table of cases. */
function isTested(text: string, title: string): boolean {
  const lines = text.split('\n');
  return lines.some((line, index) => {
    if (!line.includes(title)) return false;
    const statement = lines.slice(Math.max(0, index - 2), index + 1).join(' ');
    if (/\b(?:test|it|describe|suite)\.(?:skip|todo)\b/.test(statement)) return false;
    return /\b(?:test|it|describe|suite|call|perl|bash)\(|\b(?:name|what):/.test(statement);
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
        isTested(readFileSync(join(projectRoot, file), 'utf8'), title),
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

test('a word in a comment, and a test that is skipped, are no proof', () => {
  assert.ok(isTested("test(\n  'the door is shut',\n", 'the door is shut'));
  assert.ok(!isTested('// the door is shut\nconst a = 1;\n', 'the door is shut'));
  assert.ok(!isTested("test.skip('the door is shut', () => {", 'the door is shut'));
});
