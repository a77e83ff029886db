import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { judgeCommand } from './judge-command.ts';

/** One row of a table: command, free prefixes, expected verdict, why. */
interface Row {
  readonly command: string;
  readonly free: readonly string[];
  readonly expected: string;
  readonly why: string;
}

const folder = new URL('./fixtures/', import.meta.url);

/** Columns are separated by tabs; `\n`, `\t`, `\"`, `\\` and `\uXXXX` mean what they mean in JSON. */
function readRows(file: string): Row[] {
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('## '))
    .map((line) => {
      const [command = '', free = '', expected = '', why = ''] = line.split('\t');
      return {
        command: JSON.parse(
          `"${command.replace(/\\.|"/gs, (found) => (found === '"' ? '\\"' : found))}"`,
        ) as string,
        free: free.split(',').filter((prefix) => prefix !== ''),
        expected,
        why,
      };
    });
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.tsv'))) {
  const rows = readRows(file);
  test(`${file}: every command gets its verdict`, () => {
    assert.ok(rows.length > 50, `${file} has rows`);
    const wrong = rows.flatMap((row) => {
      const found = judgeCommand(row.command, { free: row.free, approval: [] });
      if (found.verdict === row.expected) return [];
      const pieces = found.pieces
        .map((piece) => `${piece.verdict} ${piece.text} (${piece.reason})`)
        .join('; ');
      return [
        `${row.command} [${row.free.join(', ')}]: ${found.verdict}, not ${row.expected} (${row.why}) — ${pieces}`,
      ];
    });
    assert.deepEqual(wrong, []);
  });
}
