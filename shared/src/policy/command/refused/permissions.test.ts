import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mark } from '../syntax/marks.ts';
import { modeEffect, namesRoot } from './permissions.ts';
import type { ModeEffect } from './permissions.ts';

const modes: Readonly<Record<ModeEffect, readonly string[]>> = {
  opens: [
    '777',
    '0777',
    '1777',
    '666',
    '722',
    'a+rwx',
    'o+w',
    'a+w',
    'ugo=rwx',
    'u+x,o+w',
    'o=u',
    'go+w',
    '+777',
    '=666',
  ],
  setuid: ['4755', '02755', '6777', 'u+s', 'g+s', '+s', 'u=rwxs', 'u+x+s', 'a+xs', 'ug+s', '=4755'],
  harmless: [
    '755',
    '0644',
    '700',
    '775',
    '+x',
    'a+r',
    'u+w',
    'g+w',
    'o-w',
    'a-s',
    '-777',
    'o=rx',
    'a+X',
    '+t',
    'o+s',
    '-w',
  ],
  unknown: ['', 'abc', `7${mark.unknown}7`, mark.unknown, 'u+q', '8'],
};
for (const [effect, list] of Object.entries(modes))
  for (const mode of list)
    test(`mode ${JSON.stringify(mode)} is ${effect}`, () => assert.equal(modeEffect(mode), effect));

test('root is root in every spelling', () => {
  for (const owner of [
    'root',
    'root:root',
    'root:',
    ':root',
    'bob:root',
    '0',
    '+0',
    '0:0',
    'bob:0',
    'root.root',
  ])
    assert.ok(namesRoot(owner), owner);
  for (const owner of ['bob', 'bob:staff', '1000:1000', 'rooty', ':docker', '100'])
    assert.ok(!namesRoot(owner), owner);
});
