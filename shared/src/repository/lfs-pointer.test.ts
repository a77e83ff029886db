import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lfsPointerText, parseLfsPointer } from './lfs-pointer.ts';

const oid = '4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393';

test('a canonical pointer is read and written back byte for byte', () => {
  const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 12345\n`;
  assert.deepEqual(parseLfsPointer(text), { oid, size: 12_345 });
  assert.equal(lfsPointerText({ oid, size: 12_345 }), text);
});

for (const [what, text] of [
  ['nothing', ''],
  ['another version', `version https://hawser.github.com/spec/v1\noid sha256:${oid}\nsize 1\n`],
  [
    'an extension',
    `version https://git-lfs.github.com/spec/v1\next-0-x sha256:${oid}\noid sha256:${oid}\nsize 1\n`,
  ],
  ['another order', `version https://git-lfs.github.com/spec/v1\nsize 1\noid sha256:${oid}\n`],
  ['another digest', `version https://git-lfs.github.com/spec/v1\noid md5:${oid}\nsize 1\n`],
  [
    'a path for a digest',
    `version https://git-lfs.github.com/spec/v1\noid sha256:../../etc/passwd\nsize 1\n`,
  ],
  ['a size below nothing', `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize -1\n`],
  [
    'a size beyond numbers',
    `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 9999999999999999\n`,
  ],
  ['a size with a zero before', `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 01\n`],
  ['no last line end', `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 1`],
  ['more behind', `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 1\nx\n`],
] as const)
  test(`${what} is no pointer`, () => assert.equal(parseLfsPointer(text), null));
