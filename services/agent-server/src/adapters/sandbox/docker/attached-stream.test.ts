import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createStdoutReader } from './attached-stream.ts';

function packet(type: number, text: string): Buffer {
  const header = Buffer.from([type, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

it('separates both outputs whatever way the bytes are cut', async () => {
  const bytes = Buffer.concat([packet(1, 'out'), packet(2, 'err'), packet(1, ''), packet(1, 'put')]);
  for (const size of [1, 3, 8, bytes.length]) {
    let stderr = '';
    const reader = createStdoutReader((chunk) => (stderr += chunk.toString()));
    for (let at = 0; at < bytes.length; at += size) reader.write(bytes.subarray(at, at + size));
    reader.end();
    const stdout: Buffer[] = [];
    for await (const chunk of reader) stdout.push(chunk as Buffer);
    assert.equal(Buffer.concat(stdout).toString(), 'output');
    assert.equal(stderr, 'err');
  }
});
