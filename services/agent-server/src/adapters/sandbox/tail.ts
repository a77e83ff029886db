/** The last bytes of a stream, for error messages; never holds more than its bound. */
export interface Tail {
  add(chunk: Buffer): void;
  text(): string;
}

/** Keeps the last `maxBytes`. */
export function createTail(maxBytes: number): Tail {
  let kept: Buffer = Buffer.alloc(0);
  return {
    add(chunk) {
      const joined = Buffer.concat([kept, chunk.subarray(-maxBytes)]);
      kept = joined.subarray(-maxBytes);
    },
    text: () => kept.toString('utf8'),
  };
}
