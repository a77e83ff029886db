import assert from 'node:assert/strict';
import { test } from 'node:test';
import { windowsRefusalsIn } from './judge-windows-line.ts';
import { windowsPieces } from './windows-line.ts';

const words = (text: string) => windowsPieces(text).map((piece) => piece.words.join(' '));

test('a line is split as the shells of Windows do it', () => {
  assert.deepEqual(words('dir "C:\\" & echo a^&b | more'), ['dir C:\\', 'echo a&b', 'more']);
  assert.deepEqual(words('icacls x /grant everyone:(OI)(CI)F'), ['icacls x /grant everyone:(OI)(CI)F']);
  assert.deepEqual(words('if not exist C:\\x (rd /s C:\\y)'), ['rd /s C:\\y']);
  assert.deepEqual(words('& { Remove-Item a,b }'), ['Remove-Item a b']);
  assert.deepEqual(words('echo "format C: & del'), ['echo format C: & del']);
});

test('only forms of Windows are refused in a text that bash cannot parse', () => {
  const refused = (text: string) => windowsRefusalsIn(text).length > 0;
  assert.ok(refused('cmd /c "cmd /c rd /s /q C:\\"'));
  assert.ok(refused('powershell -NoP -c "iex(iwr x)'));
  assert.ok(refused('rm -r -fo "C:\\"'));
  for (const text of ['sudo "ls', 'echo "rm -rf /', 'rd /s /q build\\', 'type "C:\\x', '((((', '"'])
    assert.ok(!refused(text), text);
});

test('hostile texts of full length end in time', () => {
  for (const part of ['(', '"', 'cmd /c ', 'a&', 'if ', '^'])
    assert.ok(Array.isArray(windowsRefusalsIn(part.repeat(Math.floor(99_000 / part.length)))));
});
