import { frameHeaderBytes, maxPayloadBytes } from './protocol.ts';

/** One frame of a command's stream. */
export interface WireFrame {
  readonly type: number;
  readonly payload: Buffer;
}

/** Frames a payload for the wire. */
export function encodeFrame(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  bytes[0] = type;
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, frameHeaderBytes);
  return bytes;
}

/**
 * Reads frames out of chunks of any cut. Holds at most one unfinished frame, and joins its pieces once it is
 * whole: joining at each chunk would let a peer that sends single bytes make us copy 64 KiB for each.
 * @throws RangeError when the peer announces a payload past the bound
 */
export function createFrameReader(maxBytes: number = maxPayloadBytes): (chunk: Buffer) => WireFrame[] {
  let parts: Buffer[] = [];
  let held = 0;
  let needed = frameHeaderBytes;
  return (chunk) => {
    parts.push(chunk);
    held += chunk.length;
    if (held < needed) return [];
    const frames: WireFrame[] = [];
    let bytes = Buffer.concat(parts, held);
    needed = frameHeaderBytes;
    while (bytes.length >= frameHeaderBytes) {
      const length = bytes.readUInt32BE(1);
      if (length > maxBytes)
        throw new RangeError(`a frame of ${length} bytes is past the bound of ${maxBytes}`);
      needed = frameHeaderBytes + length;
      if (bytes.length < needed) break;
      frames.push({ type: bytes[0] ?? -1, payload: bytes.subarray(frameHeaderBytes, needed) });
      bytes = bytes.subarray(needed);
      needed = frameHeaderBytes;
    }
    parts = [bytes];
    held = bytes.length;
    return frames;
  };
}
