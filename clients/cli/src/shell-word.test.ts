import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { quoteForShell } from './shell-word.ts';

test('a plain path stays as it is', () => {
  assert.equal(quoteForShell('/home/me/my-project'), '/home/me/my-project');
});

for (const word of ['/a b', "/it's", '/é', '-x', '/$(id)', '/a\nb', '/\u001b[31m', '']) {
  test(`a shell reads ${JSON.stringify(word)} back`, () => {
    const quoted = quoteForShell(word);
    assert.doesNotMatch(quoted, /\p{Cc}/u);
    const seen = execFileSync('bash', ['-c', `printf %s ${quoted}`], { encoding: 'utf8' });
    assert.equal(seen, word);
  });
}
