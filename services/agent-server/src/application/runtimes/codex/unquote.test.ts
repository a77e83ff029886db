import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapChanges, mapCommand } from './own-calls.ts';
import { unquote } from './unquote.ts';

test('quoted words are read as a shell would, and whatever a shell would expand is not', () => {
  assert.equal(unquote(`'ls; cat made.txt'`), 'ls; cat made.txt');
  assert.equal(unquote(`"it's \\$HOME"`), "it's $HOME");
  assert.equal(unquote(`'it'\\''s'`), "it's");
  assert.equal(unquote('pwd'), 'pwd');
  for (const word of [`'a' b`, '"$(id)"', '`id`', 'a;b', `'open`, 'a$b', '"open'])
    assert.equal(unquote(word), null, word);
});

test('a command is judged as the script that its shell runs', () => {
  assert.deepEqual(mapCommand(`/bin/bash -lc 'sudo make'`).input, { command: 'sudo make' });
  assert.deepEqual(mapCommand('git status').input, { command: 'git status' });
  assert.deepEqual(mapCommand(`/bin/bash -lc 'a' 'b'`).input, { command: `/bin/bash -lc 'a' 'b'` });
});

test('a patch is a call for each file, also for where one is moved to', () => {
  const calls = mapChanges([
    { path: '/workspace/a', kind: { type: 'add' }, diff: 'x\n' },
    {
      path: '/workspace/b',
      kind: { type: 'update', move_path: '/workspace/.github/c' },
      diff: '@@\n-old\n+new\n same',
    },
    { path: '/etc/d', kind: { type: 'delete' }, diff: '' },
  ]);
  assert.deepEqual(
    calls.map(({ tool, input }) => [tool, input['path']]),
    [
      ['write_file', 'a'],
      ['edit_file', 'b'],
      ['edit_file', '.github/c'],
      ['edit_file', '/etc/d'],
    ],
  );
  assert.deepEqual(calls[1]?.input, { path: 'b', old_text: 'old\nsame', new_text: 'new\nsame' });
});
