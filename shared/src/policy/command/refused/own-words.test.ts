import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownWords } from './own-words.ts';

/** What of the line is the program's own. */
function own(line: string): string {
  const words = line.split(' ');
  return ownWords({ name: words[0] ?? '', words, raws: words, cwd: '' }).words.join(' ');
}

test('what stands behind a script belongs to the script', () => {
  for (const [line, expected] of [
    ['node a.js -p 3000', 'node a.js'],
    ['node --test a.js -e x', 'node --test a.js'],
    ['python -m http.server -c x', 'python -m http.server'],
    ['python3.12 a.py -c x', 'python3.12 a.py'],
    ['perl -w a.pl -e x', 'perl -w a.pl'],
    ['deno run a.ts eval', 'deno run'],
    ['go test ./... -args -exec x', 'go test ./...'],
    ['go run ./cmd -exec x', 'go run ./cmd'],
    ['docker run --rm -it image ls -v', 'docker run --rm -it image'],
  ] as const)
    assert.equal(own(line), expected);
});

test('an option that may take the next word never ends the own words too early', () => {
  for (const line of [
    'node --conditions dev -e x',
    'node -r dotenv -e x',
    'python -W ignore -c x',
    'python -X dev -c x',
    'perl -I lib -ne x',
    'ruby -I lib -e x',
    'php -d a=b -r x',
    'bun --cwd a -e x',
    'lua -l a -e x',
    'julia -L a -e x',
    'docker run --unknown value --privileged image',
    'ssh host -o ProxyCommand=x',
    'make all -f x',
  ])
    assert.equal(own(line), line);
});
