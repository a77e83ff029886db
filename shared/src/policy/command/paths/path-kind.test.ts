import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mark } from '../syntax/marks.ts';
import { joinPath, pathKind } from './path-kind.ts';
import type { PathKind } from './path-kind.ts';
import { isWindowsSystemPath } from './windows-path.ts';

const rows: readonly (readonly [string, string, PathKind])[] = [
  ['/', '', 'root'],
  ['//', '', 'root'],
  ['/..', '', 'root'],
  [`/${mark.star}`, '', 'root'],
  ['/etc', '', 'system'],
  ['/etc/', '', 'system'],
  ['/tmp/../etc/.', '', 'system'],
  [`/e${mark.star}`, '', 'system'],
  ['/etc/passwd', '', 'systemFile'],
  ['/dev/sda', '', 'device'],
  ['/dev/fd/3', '', 'sink'],
  ['/dev/fd/../sda', '', 'device'],
  ['/dev/null', '', 'sink'],
  ['/tmp/x', '', 'ordinary'],
  [`/tmp/${mark.star}`, '', 'contents'],
  ['/home', '', 'system'],
  ['/home/a/b', '', 'ordinary'],
  [mark.home, '', 'home'],
  [`${mark.home}/${mark.star}`, '', 'home'],
  [`${mark.home}/x`, '', 'ordinary'],
  ['etc', '', 'ordinary'],
  ['etc', '/', 'system'],
  ['.', '/usr', 'system'],
  ['..', '/usr', 'root'],
  ['../../../..', '', 'root'],
  ['..', '', 'climb'],
  ['../dist', '', 'ordinary'],
  [`${mark.unknown}/x`, '', 'unknown'],
  [`/${mark.unknown}`, '', 'unknown'],
  ['dist', mark.unknown, 'ordinary'],
  ['etc', mark.unknown, 'unknown'],
  ['/c', '', 'root'],
  ['/mnt/c/Windows', '', 'root'],
];
for (const [path, cwd, kind] of rows)
  test(`${JSON.stringify(path)} from ${JSON.stringify(cwd)} is ${kind}`, () =>
    assert.equal(pathKind(path, cwd), kind));

test('a cd is followed', () => {
  assert.equal(joinPath('usr', '/'), '/usr');
  assert.equal(joinPath('../x', 'a/b'), 'a/x');
  assert.equal(joinPath('../..', 'a'), '..');
  assert.equal(joinPath('/etc', 'a'), '/etc');
});

test('roots and folders of Windows are known as they are written', () => {
  for (const path of [
    'C:\\',
    'c:/',
    'C:\\*',
    '"C:\\Windows"',
    'C:/Windows/System32',
    '%SystemRoot%',
    '$env:windir\\x',
  ])
    assert.ok(isWindowsSystemPath(path), path);
  for (const path of ['C:\\Users\\a\\project', 'build', '.\\dist', 'C:x.txt', 'windir', 'D:\\work'])
    assert.ok(!isWindowsSystemPath(path), path);
});
