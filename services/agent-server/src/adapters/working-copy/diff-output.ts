import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';

/** What stood before the patch in the output of a diff run, and what the patch is. */
export interface DiffOutput {
  readonly changes: Buffer;
  readonly sha256: string;
  readonly bytes: number;
}

/** Lists of changes past this are refused: 64 MiB name some 500,000 files. */
const maxChangesBytes = 64 * 1024 * 1024;
/** The line that holds the length of the list. */
const maxHeaderBytes = 32;

/**
 * Splits `LENGTH\n`, that many bytes of changes, and the patch. The patch goes on through the stream; the rest is kept.
 * `result` may be asked when the stream has ended. The stream fails on output of another shape.
 */
export function createDiffSplitter(): { readonly stream: Transform; result(): DiffOutput } {
  const hash = createHash('sha256');
  let header = Buffer.alloc(0);
  let length: number | null = null;
  const changes: Buffer[] = [];
  let missing = 0;
  let bytes = 0;

  const readHeader = (chunk: Buffer): Buffer => {
    header = Buffer.concat([header, chunk]);
    const end = header.indexOf('\n');
    if (end < 0 && header.length <= maxHeaderBytes) return Buffer.alloc(0);
    const text = header.subarray(0, Math.max(0, end)).toString('utf8').trim();
    if (!/^\d+$/.test(text)) throw new Error('the output of the diff does not begin with a length');
    length = Number(text);
    if (length > maxChangesBytes)
      throw new Error(`the list of changes has ${length} bytes, which is too long`);
    missing = length;
    return header.subarray(end + 1);
  };

  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        let rest = length === null ? readHeader(chunk) : chunk;
        if (missing > 0) {
          const part = rest.subarray(0, missing);
          changes.push(part);
          missing -= part.length;
          rest = rest.subarray(part.length);
        }
        hash.update(rest);
        bytes += rest.length;
        done(null, rest);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return {
    stream,
    result() {
      if (length === null || missing > 0) throw new Error('the output of the diff ended too early');
      return { changes: Buffer.concat(changes), sha256: hash.digest('hex'), bytes };
    },
  };
}
