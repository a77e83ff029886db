import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readTestReport } from './test-report.ts';

const fixture = (name: string): string =>
  readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

for (const reporter of ['spec', 'tap']) {
  test(`a ${reporter} report gives names, places, values and stacks of its failures`, () => {
    const report = readTestReport(fixture(`report-${reporter}.txt`));
    assert.ok(report);
    assert.deepEqual([report.passed, report.failed], [1, 7]);
    assert.deepEqual(
      report.failures.map((failure) => failure.name),
      ['adds two', 'ups it', 'short', 'list', 'boom', 'ok', 'throws'],
    );
    const [sum, upper, , list, boom] = report.failures;
    assert.deepEqual([sum?.actual, sum?.expected, sum?.operator], [[-1], [3], 'strictEqual']);
    assert.match(sum?.file ?? '', /test\/a\.test\.js$/);
    assert.deepEqual([upper?.actual, upper?.expected], [['hello world\nfoo'], ['HELLO WORLD\nFOO']]);
    assert.deepEqual(
      [list?.actual, list?.expected],
      [
        [2, 1],
        [3, 1],
      ],
    );
    assert.deepEqual([boom?.stack[0]?.functionName, boom?.stack[0]?.line], ['boom', 4]);
    assert.match(boom?.stack[0]?.file ?? '', /src\/a\.js$/);
  });
}

test('output without a summary is no report', () => {
  assert.equal(readTestReport('make: *** No rule to make target'), undefined);
  assert.equal(readTestReport(''), undefined);
});
