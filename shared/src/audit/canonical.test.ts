import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCodedError } from '../errors/coded-error.ts';
import { canonicalBytes, longestText, normalise, readCanonical } from './canonical.ts';

const text = (value: Parameters<typeof canonicalBytes>[0]): string =>
  Buffer.from(canonicalBytes(value)).toString();

test('members are sorted by UTF-16 units and numbers written as RFC 8785 has them', () => {
  assert.equal(
    text({ b: 1, a: [true, null, 'é'], '\u20ac': 1e21, '\r': 0.1, '1': -0 }),
    '{"\\r":0.1,"1":0,"a":[true,null,"é"],"b":1,"€":1e+21}',
  );
});

test('equal values give equal bytes whatever the order of their members', () => {
  assert.equal(text({ a: { x: 1, y: 2 }, b: 3 }), text({ b: 3, a: { y: 2, x: 1 } }));
});

test('poison text becomes harmless, in keys too', () => {
  assert.deepEqual(normalise({ 'k\0': ['a\0b', '\ud800', 'x\udc00y', '😀'] }), {
    'k\ufffd': ['a\ufffdb', '\ufffd', 'x\ufffdy', '😀'],
  });
});

test('an over-long text is cut at a whole character and says how long it was', () => {
  const cut = normalise('😀'.repeat(longestText));
  assert.equal(typeof cut, 'string');
  assert.ok(String(cut).length <= longestText);
  assert.ok(String(cut).isWellFormed());
  assert.match(String(cut), /\[cut, 8192 in all\]$/);
});

test('a member named __proto__ stays a member', () => {
  const value = normalise(JSON.parse('{"__proto__":{"a":1}}'));
  assert.equal(text(value), '{"__proto__":{"a":1}}');
});

test('what readers of JSON disagree on is refused', () => {
  const deep = JSON.parse('['.repeat(20) + ']'.repeat(20));
  for (const value of [2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, { '\ud800': 1, '\udc00': 2 }, deep])
    assert.throws(
      () => normalise(value),
      (error) => isCodedError(error, 'internal'),
    );
});

test('canonical bytes are told from others that hold the same value', () => {
  assert.equal(readCanonical(Buffer.from('{"a":1,"b":2}'))?.canonical, true);
  for (const other of ['{"b":2,"a":1}', '{"a":1, "b":2}', '{"a":1,"a":1}', '{"a":1.0}', '{"a":"\\u0041"}'])
    assert.equal(readCanonical(Buffer.from(other))?.canonical, false, other);
  for (const none of ['', '{', '\ufeff{}', '{"a":"\\ud800"}'])
    assert.equal(readCanonical(Buffer.from(none)), null, none);
  assert.equal(readCanonical(Buffer.from([0x22, 0xff, 0x22])), null);
});
