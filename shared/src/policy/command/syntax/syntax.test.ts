import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandName, windowsName } from '../command-name.ts';
import { expandBraces } from './braces.ts';
import { fitsPattern, isKnown, literal, mark } from './marks.ts';

/** Braces as they are in a script. */
const braces = (text: string) =>
  expandBraces(text.replaceAll('{', mark.open).replaceAll(',', mark.comma).replaceAll('}', mark.close));

test('braces expand as in bash', () => {
  assert.deepEqual(braces('a{b,c}d'), ['abd', 'acd']);
  assert.deepEqual(braces('{a,b}{1,2}'), ['a1', 'a2', 'b1', 'b2']);
  assert.deepEqual(braces('{a,{b,c}}'), ['a', 'b', 'c']);
  assert.deepEqual(braces('{1..3}'), ['1', '2', '3']);
  assert.deepEqual(braces('{3..1}'), ['3', '2', '1']);
  assert.deepEqual(braces('{08..10}'), ['08', '09', '10']);
  assert.deepEqual(braces('{a..c}'), ['a', 'b', 'c']);
  assert.deepEqual(braces('{,x}'), ['', 'x']);
  assert.deepEqual(braces('{ab}'), ['{ab}']);
});

test('a brace expansion of many words is unknown', () => {
  assert.deepEqual(braces('{1..1000000}'), [mark.unknown]);
  assert.deepEqual(braces('{a,b}'.repeat(20)), [mark.unknown]);
});

test('text of a script never reads as a mark', () => {
  assert.ok(isKnown(literal(`a${mark.unknown}${mark.star}b`)));
});

test('file name patterns fit like those of the shell', () => {
  assert.ok(fitsPattern(`e${mark.star}`, 'etc'));
  assert.ok(fitsPattern(`${mark.any}tc`, 'etc'));
  assert.ok(fitsPattern(mark.star, 'usr'));
  assert.ok(!fitsPattern(`e${mark.star}x`, 'etc'));
  assert.ok(!fitsPattern(mark.any, 'etc'));
});

test('a program has one name however it is addressed', () => {
  for (const value of ['sudo', '/usr/bin/sudo', './sudo', 'SUDO', 'sudo.exe', 'sudo\r'])
    assert.equal(commandName(value), 'sudo');
  assert.equal(windowsName('C:\\Windows\\System32\\runas.exe'), 'runas.exe');
  assert.equal(windowsName('s\\udo'), undefined);
});
