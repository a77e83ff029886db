import { Duplex } from 'node:stream';
import type { Readable, Writable } from 'node:stream';

/**
 * One stream of two pipes, for HTTP/2 on top. What HTTP/2 has to say at a time (the head of a frame, and its content in
 * several pieces) leaves in one write: each write to a pipe is a system call here and wakes the other side up. The
 * standard library's `Duplex.from` writes each piece by itself.
 */
export function joinPipes(input: Readable, output: Writable): Duplex {
  const send = (bytes: Uint8Array, done: (error?: Error | null) => void): void => {
    if (output.destroyed || output.writableEnded) return done(new Error('the pipe is closed'));
    if (output.write(bytes)) return done();
    output.once('drain', done);
  };
  const joined = new Duplex({
    allowHalfOpen: true,
    read: () => void input.resume(),
    write: (bytes: Buffer, _encoding, done) => send(bytes, done),
    writev: (pieces, done) => send(Buffer.concat(pieces.map(({ chunk }) => chunk as Buffer)), done),
    final: (done) => void output.end(() => done()),
    destroy: (error, done) => {
      input.destroy();
      output.destroy();
      done(error);
    },
  });
  input.on('data', (bytes: Buffer) => {
    if (!joined.push(bytes)) input.pause();
  });
  input.on('end', () => joined.push(null));
  for (const part of [input, output]) part.on('error', (error: Error) => joined.destroy(error));
  input.on('close', () => input.readableEnded || joined.destroy());
  output.on('close', () => output.writableFinished || joined.destroy());
  return joined;
}
