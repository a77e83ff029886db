import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsOf } from './workstation-runner.ts';

test('of a log a person is told the last fault in its words, of anything else the end', () => {
  const log = [
    '{"level":30,"msg":"starting"}',
    '{"level":60,"code":"sandbox_driver_missing","msg":"bwrap is not installed. Install bubblewrap."}',
    '{"level":30,"msg":"stopped"}',
  ].join('\n');
  assert.equal(wordsOf(`${log}\n`), 'bwrap is not installed. Install bubblewrap.');
  assert.equal(wordsOf('node: bad option\nUsage: node\n'), 'node: bad option\nUsage: node');
  assert.equal(wordsOf('{"level":30,"msg":"starting"}\n'), '{"level":30,"msg":"starting"}');
  assert.equal(wordsOf(''), 'it said nothing.');
});
