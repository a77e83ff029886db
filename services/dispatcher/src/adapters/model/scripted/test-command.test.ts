import assert from 'node:assert/strict';
import { test } from 'node:test';
import { focusCommand, otherRunner } from './test-command.ts';

const commands: readonly (readonly [string, readonly string[], string])[] = [
  ['node --test', ['test/a.test.js'], 'npm test -- test/a.test.js'],
  ['node --test "src/**/*.test.js"', ['src/a.test.js'], 'node --test src/a.test.js'],
  [
    'node --import ./hook.js --test test/',
    ['test/a.js', 'test/b.js'],
    'node --test --import ./hook.js test/a.js test/b.js',
  ],
  ['c8 node --test', ['test/a.js'], ''],
  ['node --test && npm run lint', ['test/a.js'], ''],
  ['node --test', ['test/a.js; rm -rf .'], ''],
  ['node --test', ['--eval=1'], ''],
  ['node --test $(id) x', ['test/a.js'], ''],
  ['node --test', [], ''],
];
for (const [script, files, command] of commands) {
  test(`${script} for ${files.join(' ')}`, () => assert.equal(focusCommand(script, files), command));
}

test('another runner is known by its name', () => {
  assert.equal(otherRunner('vitest run'), 'vitest');
  assert.equal(otherRunner('make check'), '');
});
