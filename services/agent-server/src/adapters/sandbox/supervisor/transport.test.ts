import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { joinPipes } from './transport.ts';

/** A pipe that notes what is written to it and is drained by hand. */
function notingPipe(highWaterMark: number): { pipe: Writable; writes: string[]; drain(): void } {
  const writes: string[] = [];
  const waiting: (() => void)[] = [];
  const pipe = new Writable({
    highWaterMark,
    write: (bytes: Buffer, _encoding, done) => {
      writes.push(bytes.toString());
      waiting.push(done);
    },
  });
  return { pipe, writes, drain: () => waiting.splice(0).forEach((done) => done()) };
}

function writeCorked(stream: Writable, pieces: readonly string[]): void {
  stream.cork();
  for (const piece of pieces) stream.write(piece);
  stream.uncork();
}

describe('two pipes as one stream', () => {
  it('write what is said at a time in one piece', () => {
    const { pipe, writes } = notingPipe(1_000);
    writeCorked(joinPipes(new PassThrough(), pipe), ['head', 'con', 'tent']);
    assert.deepEqual(writes, ['headcontent']);
  });

  it('hold the writer up while the pipe is full', async () => {
    const { pipe, writes, drain } = notingPipe(4);
    const joined = joinPipes(new PassThrough(), pipe);
    let written = false;
    joined.write('12345678', () => {
      written = true;
    });
    joined.write('9');
    await turn();
    assert.deepEqual([written, writes], [false, ['12345678']]);
    drain();
    await turn();
    assert.deepEqual([written, writes], [true, ['12345678', '9']]);
  });

  it('hold the other side up while nobody reads', async () => {
    const input = new PassThrough({ highWaterMark: 1_000 });
    const joined = joinPipes(input, notingPipe(1).pipe);
    const written = 50 * 10_000;
    for (let piece = 0; piece < 50; piece += 1) {
      input.write(Buffer.alloc(10_000));
      await turn();
    }
    assert.ok(joined.readableLength < 100_000, `${joined.readableLength} bytes are held`);
    let read = 0;
    joined.on('data', (bytes: Buffer) => {
      read += bytes.length;
    });
    input.end();
    await once(joined, 'end');
    assert.equal(read, written);
  });

  it('end with their input, and take both pipes along when they are destroyed or one breaks', async () => {
    const input = new PassThrough();
    const { pipe } = notingPipe(10);
    const joined = joinPipes(input, pipe);
    joined.destroy();
    await once(joined, 'close');
    assert.deepEqual([input.destroyed, pipe.destroyed], [true, true]);

    const other = new PassThrough();
    const broken = joinPipes(other, notingPipe(10).pipe);
    const error = once(broken, 'error');
    other.destroy(new Error('torn'));
    assert.match(String(await error), /torn/);
  });

  it('break when a pipe closes before its end', async () => {
    const input = new PassThrough();
    const joined = joinPipes(input, notingPipe(10).pipe);
    input.destroy();
    await once(joined, 'close');
    assert.equal(joined.destroyed, true);
  });
});
