import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeChange } from './approval-change.ts';

const shown = (args: Record<string, string | boolean>) => describeChange({ arguments: args });

test('a command is shown as it would run, whole', () => {
  assert.equal(shown({ command: 'make all &&\n  make install' }), 'make all &&\n  make install');
});

test('a change of a file is shown as what goes and what comes', () => {
  assert.equal(
    shown({ path: 'package.json', old_text: 'a\nb\n', new_text: 'a\n\nc' }),
    'package.json\n- a\n- b\n+ a\n+ \n+ c',
  );
  assert.equal(shown({ path: 'a', old_text: 'x', new_text: '' }), 'a\n- x');
  assert.equal(shown({ path: 'ci.yml', content: 'on: push\n' }), 'ci.yml (the whole file)\n+ on: push');
  const long = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join('\n');
  assert.ok(shown({ path: 'a', content: long }).endsWith('+ line 4999'), 'nothing is cut');
});

test('arguments that are not known are shown whole, none is left out', () => {
  assert.match(shown({ path: 'a', old_text: 'x', new_text: 'y', everywhere: true }), /"everywhere": true/);
  assert.match(shown({ command: 'ls', background: true }), /"background": true/);
  assert.match(shown({ task: 'look' }), /"task": "look"/);
});
