import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFrameBudget } from './frame-budget.ts';

/** An HTTP/2 DATA frame. */
function frame(payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  return Buffer.concat([header, payload]);
}

async function pass(
  chunks: readonly Buffer[],
  framesPerSecond: number,
  monotonicMs: () => number,
): Promise<{ bytes: Buffer; pieces: number }> {
  const budget = createFrameBudget({ framesPerSecond, burst: 100 }, monotonicMs);
  const seen: Buffer[] = [];
  budget.on('data', (chunk: Buffer) => seen.push(chunk));
  const ended = new Promise((resolve) => budget.on('end', resolve));
  for (const chunk of chunks)
    if (!budget.write(chunk)) await new Promise((resolve) => budget.once('drain', resolve));
  budget.end();
  await ended;
  return { bytes: Buffer.concat(seen), pieces: seen.length };
}

it('slows a flood of tiny frames to the budget, and changes no byte', async () => {
  const flood = Buffer.concat(Array.from({ length: 600 }, (_, index) => frame(Buffer.from([index % 256]))));
  // Each look of the budget is ten milliseconds after the one before: twenty more frames.
  let ms = 0;
  const passed = await pass([flood], 2_000, () => (ms += 10));
  assert.ok(passed.bytes.equals(flood));
  assert.ok(ms > 200, `600 frames at 2,000 a second after a burst of 100 took ${ms} ms`);
  assert.ok(passed.pieces > 5, 'the flood was not handed on in one piece');
});

it('counts frames and not bytes, also when headers are cut', { timeout: 30_000 }, async () => {
  const large = frame(Buffer.alloc(60_000, 1));
  const cut = [large.subarray(0, 4), large.subarray(4, 100), large.subarray(100)];
  // The clock stands still: more than the burst of 100 would never pass.
  const passed = await pass(Array.from({ length: 100 }, () => cut).flat(), 10, () => 0);
  assert.equal(passed.bytes.length, 100 * large.length);
});
