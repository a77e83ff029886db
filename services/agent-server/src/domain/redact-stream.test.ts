import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedaction } from './redact-stream.ts';

const secret = 'ababac-"s3cret"/+';
const redactIn = (pieces: readonly string[], secrets: Record<string, string> = { TOKEN: secret }): string => {
  const stream = createRedaction(secrets)();
  return Buffer.concat([...pieces.map((piece) => stream.push(Buffer.from(piece))), stream.end()]).toString();
};

test('a value is hidden wherever the stream is cut', () => {
  const text = `abab${secret}ab${secret}${secret}abab`;
  const hidden = 'abab[credential:TOKEN]ab[credential:TOKEN][credential:TOKEN]abab';
  assert.equal(redactIn([text]), hidden);
  assert.equal(redactIn(text.split('')), hidden, 'byte by byte');
  for (let at = 0; at <= text.length; at += 1)
    assert.equal(redactIn([text.slice(0, at), text.slice(at)]), hidden, `cut at ${at}`);
});

test('the usual encodings are hidden too, other text is not touched and not held', () => {
  const forms = [
    Buffer.from(secret).toString('base64'),
    JSON.stringify({ secret }),
    encodeURIComponent(secret),
  ];
  for (const form of forms) assert.match(redactIn([`> ${form} <`]), /^> .*\[credential:TOKEN\].* <$/);
  const stream = createRedaction({ TOKEN: secret })();
  assert.equal(stream.push(Buffer.from('a line\n')).toString(), 'a line\n');
  assert.equal(stream.end().length, 0);
});

test('of two values of which one begins the other the longer is taken', () => {
  const secrets = { SHORT: 'prefix-prefix', LONG: 'prefix-prefix-more' };
  assert.equal(redactIn(['x prefix-prefix-more y'], secrets), 'x [credential:LONG] y');
});
