import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFrameReader, encodeFrame } from './frame-reader.ts';

it('reads frames whatever way the bytes are cut', () => {
  const payloads = ['', 'a', 'second frame', 'x'.repeat(1000)];
  const bytes = Buffer.concat(payloads.map((text, type) => encodeFrame(type, Buffer.from(text))));
  for (const size of [1, 2, 3, 5, 7, 64, bytes.length]) {
    const read = createFrameReader();
    const frames = [];
    for (let at = 0; at < bytes.length; at += size) frames.push(...read(bytes.subarray(at, at + size)));
    assert.deepEqual(
      frames.map(({ type, payload }) => [type, payload.toString()]),
      payloads.map((text, type) => [type, text]),
    );
  }
});

it('refuses a length past the bound before it holds a byte of it', () => {
  const header = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  assert.throws(() => createFrameReader()(header), RangeError);
});
