import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readAttachments } from './attachments.ts';

test('text goes along by name; what is no text, too large or missing is refused by name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-attachments-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  assert.equal(await readAttachments([]), '');
  assert.match(
    await readAttachments([file('a é.log', 'one ☃\n')]),
    /<attached name="a é\.log">\none ☃\n\n<\/attached>/,
  );
  for (const [path, says] of [
    [join(folder, 'nowhere'), /nowhere.*ENOENT/],
    [file('picture', new Uint8Array([137, 80, 0])), /picture.*not UTF-8/],
    [file('latin', new Uint8Array([0xe9, 0x0a])), /latin.*not UTF-8/],
    [file('large', 'x'.repeat(90_001)), /large.*90000/],
  ] as const)
    await assert.rejects(readAttachments([path]), says);
});
