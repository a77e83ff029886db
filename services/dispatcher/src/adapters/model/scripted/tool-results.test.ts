import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedFiles, readFileText, saysRefused } from './tool-results.ts';

test('numbered lines become the file’s text, remarks around them are left out', () => {
  const result =
    '     1\tconst a = 1;\n     2\t\n     3\t  // 7\tseven\n(The file goes on; read further with offset 4.)';
  assert.equal(readFileText(result), 'const a = 1;\n\n  // 7\tseven');
});

test('text that is not numbered, or whose numbers do not run, stays as it is', () => {
  for (const text of ['plain\ntext', '1\ta\n3\tb', '', '{"a": 1}']) assert.equal(readFileText(text), text);
});

test('a listing gives files, not folders, links and remarks', () => {
  const result =
    'package.json\nsrc/\nsrc/a.js\n./src/b.js\n/workspace/src/c.js\nlatest@\n(There is more; list a folder below.)';
  assert.deepEqual(listedFiles(result), ['package.json', 'src/a.js', 'src/b.js', 'src/c.js']);
  assert.deepEqual(listedFiles('. is empty.'), []);
});

test('a refusal is short and says so; a long output that mentions one is none', () => {
  assert.ok(saysRefused('The call was rejected by a person.'));
  assert.ok(!saysRefused('connection timed out'));
  assert.ok(!saysRefused(`refused\n${'x'.repeat(1000)}`));
});
