import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { createLiveTerminal } from './live-terminal.ts';

function startTerminal() {
  const stream = Object.assign(new PassThrough(), { columns: 40, rows: 10, isTTY: true });
  const text = (): string => stripVTControlCharacters(String(stream.read() ?? ''));
  return { terminal: createLiveTerminal(stream), text };
}

test('whole lines stay, the foot moves below them', () => {
  const { terminal, text } = startTerminal();
  terminal.foot('working');
  terminal.write('one\n');
  assert.match(text(), /one\nworking/);
  terminal.write('tw');
  terminal.write('o\nthree');
  const shown = text();
  assert.match(shown, /two\nthree\nworking/);
  terminal.rest();
  assert.match(text(), /three\n$/, 'what had no end of line yet is kept');
});

test('nothing of the foot is left at the end', () => {
  const { terminal, text } = startTerminal();
  terminal.write('done\n');
  terminal.foot('working');
  text();
  terminal.end();
  assert.doesNotMatch(text(), /working/);
});
