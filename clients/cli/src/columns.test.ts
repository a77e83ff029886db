import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf, cutColumns, padColumns, tableLines } from './columns.ts';

test('a text is as wide as a terminal shows it', () => {
  for (const [text, columns] of [
    ['plain', 5],
    ['日本語', 6],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['e\u0301te\u0301', 3],
    ['😀', 2],
    ['👍🏽', 2],
    ['🇨🇭', 2],
    ['\u{20000}', 2],
    ['–…', 2],
    ['', 0],
  ] as const)
    assert.equal(columnsOf(text), columns, text);
});

test('blanks fill up to the column, on either side, and cut nothing', () => {
  assert.equal(padColumns('日本', 6), '日本  ');
  assert.equal(padColumns('日本', 6, 'right'), '  日本');
  assert.equal(padColumns('日本語', 4), '日本語');
});

test('a cut text fits its columns and splits no letter', () => {
  assert.equal(cutColumns('short', 10), 'short');
  assert.equal(cutColumns('a long sentence', 7), 'a long…');
  assert.equal(cutColumns('日本語のプロジェクト', 7), '日本語…');
  assert.equal(cutColumns('日本語のプロジェクト', 8), '日本語…', 'half a letter is none');
  assert.equal(cutColumns('👍🏽👍🏽👍🏽', 4), '👍🏽…');
  assert.ok(columnsOf(cutColumns('e\u0301'.repeat(20), 10)) <= 10);
});

test('the columns of a table stand below each other, whatever their letters', () => {
  const lines = tableLines(
    [
      ['shop', '7', 'x'],
      ['日本語', '1234', 'x'],
      ['e\u0301te\u0301 😀', '12', 'x'],
    ],
    ['name', 'n', 'end'],
  );
  assert.deepEqual(lines, [
    'name       n  end',
    'shop       7  x',
    '日本語  1234  x',
    'e\u0301te\u0301 😀    12  x',
  ]);
  // where the last column begins, in columns of the terminal
  assert.deepEqual(
    new Set(lines.map((line) => columnsOf(line.slice(0, /(end|x)$/.exec(line)?.index)))),
    new Set([14]),
  );
});

test('nothing in a cell acts on the terminal or ends its line', () => {
  assert.deepEqual(tableLines([['a\u001b[2J\nb', 'c']]), ['a\\x1b[2J\\nb  c']);
});
