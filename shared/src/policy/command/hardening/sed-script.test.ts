import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sedEffects } from './sed-script.ts';

test('scripts that only edit the stream have no effects', () => {
  for (const script of [
    '',
    'p',
    '10,20p',
    '$!d',
    '/a/,/b/p',
    '\\#a#d',
    's/a/b/',
    's/a/b/gI',
    's#a/b#c#2',
    's/\\//x/',
    's/[/]/x/',
    'y/abc/def/',
    '1d;$d',
    '/x/{s/a/b/;d}',
    'N;P;D',
    '2i\\text with w and e',
    'a hello',
    ':a;N;$!ba;s/\n/ /g',
    '0~3d',
    '# w comment\np',
    'w /dev/stdout',
    '/w/p',
    's/e/w/',
  ])
    assert.deepEqual(sedEffects(script), [], script);
});

test('code and files are found wherever they stand', () => {
  const rows = [
    ['e id', 'runs code'],
    ['1e id', 'runs code'],
    ['s/a/id/e', 'runs code'],
    ['s/a/id/ge', 'runs code'],
    ['p;e', 'runs code'],
    ['/x/{e id\n}', 'runs code'],
    ['w out', 'writes a file'],
    ['/x/w out', 'writes a file'],
    ['s/a/b/w out', 'writes a file'],
    ['s/a/b/gpw out', 'writes a file'],
    ['W out', 'writes a file'],
  ] as const;
  for (const [script, effect] of rows) assert.deepEqual(sedEffects(script), [effect], script);
});

test('what is not understood is said to be so', () => {
  for (const script of ['s/a/b', 's', '?', 's/a', 'k']) assert.equal(sedEffects(script), undefined, script);
});
