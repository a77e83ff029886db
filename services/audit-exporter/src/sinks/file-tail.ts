import type { FileHandle } from 'node:fs/promises';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SinkPosition } from '../application/ports/sink.ts';

const chunkBytes = 64 * 1024;
/** Longest line to look for: an entry of 64 KiB, once as base64, once escaped. */
const longestLine = 1024 * 1024;
const lineFeed = 0x0a;

export interface FileTail {
  /** The entry of the last whole line; null in a file without one. */
  readonly last: SinkPosition | null;
  /** Where the last whole line ends; what follows it is torn. */
  readonly end: number;
}

/**
 * Reads where a sink's file stands from its end.
 * @throws CodedError `conflict` when the file holds something else than entries; nothing is changed then
 */
export async function readTail(handle: FileHandle, place: string): Promise<FileTail> {
  const { size } = await handle.stat();
  const tail = await readBackwards(handle, size);
  const stop = tail.lastIndexOf(lineFeed);
  if (stop === -1) {
    if (!looksLikeEntry(tail)) throw notOurs(place);
    return { last: null, end: 0 };
  }
  const start = stop === 0 ? 0 : tail.lastIndexOf(lineFeed, stop - 1) + 1;
  const last = parseLine(tail.subarray(start, stop));
  if (last === null) throw notOurs(place);
  return { last, end: size - tail.length + stop + 1 };
}

/** As much of the end as holds one whole line, or everything. */
async function readBackwards(handle: FileHandle, size: number): Promise<Buffer> {
  let tail = Buffer.alloc(0);
  for (let from = size; from > 0 && tail.length < 2 * longestLine && lineFeeds(tail) < 2;) {
    const length = Math.min(chunkBytes, from);
    from -= length;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from);
    tail = Buffer.concat([buffer.subarray(0, bytesRead), tail]);
  }
  return tail;
}

function lineFeeds(tail: Buffer): number {
  const last = tail.lastIndexOf(lineFeed);
  if (last === -1) return 0;
  return last > 0 && tail.lastIndexOf(lineFeed, last - 1) !== -1 ? 2 : 1;
}

function parseLine(line: Buffer): SinkPosition | null {
  try {
    const parsed = sinkLineSchema.safeParse(JSON.parse(line.toString()));
    return parsed.success ? { index: parsed.data.index, digest: parsed.data.digest } : null;
  } catch {
    // no JSON: the caller names the file
    return null;
  }
}

function looksLikeEntry(start: Buffer): boolean {
  const beginning = '{"index":';
  return start.length === 0 || beginning.startsWith(start.toString().slice(0, beginning.length));
}

function notOurs(place: string): CodedError {
  return new CodedError(
    'conflict',
    `The file ${place} does not end in an audit entry, so it is left as it is. Move it away or set LEMNISCATE_SINK_FILE to another place.`,
    { place },
  );
}
