import { Transform } from 'node:stream';
import type { TransformCallback } from 'node:stream';

/** Without a terminal an engine frames both outputs on one connection: type, three zeros, length, payload. */
const headerBytes = 8;
const stdoutType = 1;

/**
 * Takes standard output out of an attached connection, with back-pressure; dockerode's own demultiplexer has
 * none. Standard error goes to `onStderr`. Payloads pass as they come and are never held.
 */
export function createStdoutReader(onStderr: (chunk: Buffer) => void): Transform {
  let header = Buffer.alloc(0);
  let left = 0;
  let type = stdoutType;
  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
      let at = 0;
      while (at < chunk.length) {
        if (left === 0) {
          const part = chunk.subarray(at, at + headerBytes - header.length);
          header = Buffer.concat([header, part]);
          at += part.length;
          if (header.length < headerBytes) break;
          type = header[0] ?? 0;
          left = header.readUInt32BE(4);
          header = Buffer.alloc(0);
          continue;
        }
        const payload = chunk.subarray(at, at + left);
        at += payload.length;
        left -= payload.length;
        if (type === stdoutType) this.push(payload);
        else onStderr(payload);
      }
      done();
    },
  });
}
