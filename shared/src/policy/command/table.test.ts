import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixtureFiles, readRows } from './fuzz/fixture-rows.ts';
import { judgeCommand } from './judge-command.ts';

for (const file of fixtureFiles()) {
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
