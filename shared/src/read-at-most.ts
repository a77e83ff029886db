/**
 * Reads the body of an answer as text and no further than a bound, whatever its headers say of its length.
 * @param limit bytes
 * @throws Error as soon as there is more
 */
export async function readAtMost(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > limit) throw new Error(`the answer is longer than ${limit} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
