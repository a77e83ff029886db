import assert from 'node:assert/strict';
import { test } from 'node:test';
import { harmless } from './harmless.ts';

test('NUL and halves of surrogate pairs become harmless, everywhere in the value', () => {
  assert.deepEqual(harmless({ 'a\0': ['\0x', { b: '\ud800y', c: '😀' }], n: 1, z: null }), {
    'a\u2400': ['\u2400x', { b: '\ufffdy', c: '😀' }],
    n: 1,
    z: null,
  });
});
