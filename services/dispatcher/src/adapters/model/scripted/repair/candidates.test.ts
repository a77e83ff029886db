import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCandidates } from './candidates.ts';
import { readSourceFile } from './source-file.ts';
import type { SourceFile } from './source-file.ts';
import type { Leaf, TestFailure } from './test-failure.ts';

function read(path: string, text: string): SourceFile {
  const source = readSourceFile(path, text);
  assert.ok(source, path);
  return source;
}

const failing = read('test/a.test.js', "import { a } from '../src/a.js';\ntest('a', () => { a(1); });\n");

function failure(expected: Leaf, actual: Leaf): TestFailure {
  return {
    name: 'a',
    message: 'Expected values to be strictly equal',
    operator: 'strictEqual',
    expected: [expected],
    actual: [actual],
    stack: [{ functionName: '', file: '/workspace/test/a.test.js', line: 2 }],
  };
}

/** What the candidates change, best first. */
function changes(text: string, expected: Leaf, actual: Leaf): string[] {
  return findCandidates([failure(expected, actual)], [read('src/a.js', text)], [failing]).map(
    ({ what }) => what,
  );
}

test('a missing return is the first thing to try where a value is missing', () => {
  const found = changes('export function a(list) {\n  list.map((one) => one * 2);\n}\n', 2, undefined);
  assert.match(found[0] ?? '', /^missing return/);
});

test('a number that is compared comes before the factors of a day', () => {
  const found = changes(
    'export function a(date) {\n  const day = 24 * 60 * 60;\n  return date === 5 ? day : 0;\n}\n',
    '2026-05-04',
    '2026-05-05',
  );
  const compared = found.indexOf('wrong number: 5 → 6');
  assert.ok(compared >= 0 && compared < found.indexOf('wrong number: 24 → 23'));
});

test('an entry of a table comes before a guard when nothing was thrown', () => {
  const found = changes(
    "const rates = { standard: 21 };\nexport function a(n) {\n  if (n < 1) {\n    throw new Error('small');\n  }\n  return rates.standard;\n}\n",
    180,
    190,
  );
  const entry = found.indexOf('wrong number: 21 → 20');
  assert.ok(entry >= 0 && entry < found.indexOf('wrong operator: < → <='));
});
