import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promptText } from './prompt-text.ts';

test('words and attachments become one message', () => {
  const text = promptText([
    { type: 'text', text: 'Explain' },
    { type: 'resource_link', name: 'cart.js', uri: 'file:///r/cart.js' },
    { type: 'resource', resource: { uri: 'file:///r/a.txt', text: 'one' } },
  ]);
  assert.match(text, /^Explain\n\[cart\.js\]\(file:\/\/\/r\/cart\.js\)\n/);
  assert.match(text, /<attached uri="file:\/\/\/r\/a\.txt">\none\n<\/attached>$/);
});

test('what a session cannot read is refused by name', () => {
  assert.throws(() => promptText([{ type: 'image', data: '', mimeType: 'image/png' }]), /pictures/);
  assert.throws(
    () => promptText([{ type: 'resource', resource: { uri: 'file:///x', blob: 'AA==' } }]),
    /binary files/,
  );
  assert.throws(() => promptText([{ type: 'text', text: '  ' }]), /empty/);
  assert.throws(() => promptText([{ type: 'text', text: 'x'.repeat(100_001) }]), /100001.*100000/s);
});
