import type { FileHandle } from 'node:fs/promises';
import type { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

const chunkBytes = 64 * 1024;
/** Longest line to look for: an entry of 64 KiB, once as base64, once escaped. */
const longestLine = 1024 * 1024;
const lineFeed = 0x0a;

export interface FileTail<Line> {
  /** The last whole line; null in a file without one. */
  readonly last: Line | null;
  /** Where the last whole line ends; what follows it is torn. */
  readonly end: number;
}

/** What the lines of a file are. */
export interface LineShape<Line> {
  readonly schema: z.ZodType<Line>;
  /** How every line begins: by it a torn first line is told from somebody else's file. */
  readonly beginning: string;
}

/**
 * Reads where a sink's file stands from its end.
 * @throws CodedError `conflict` when the file holds something else than such lines; nothing is changed then
 */
export async function readTail<Line>(
  handle: FileHandle,
  place: string,
  lines: LineShape<Line>,
): Promise<FileTail<Line>> {
  const { size } = await handle.stat();
  const tail = await readBackwards(handle, size);
  const stop = tail.lastIndexOf(lineFeed);
  if (stop === -1) {
    if (!looksLike(tail, lines.beginning)) throw notOurs(place);
    return { last: null, end: 0 };
  }
  const start = stop === 0 ? 0 : tail.lastIndexOf(lineFeed, stop - 1) + 1;
  const last = parseLine(tail.subarray(start, stop), lines);
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

function parseLine<Line>(line: Buffer, { schema }: LineShape<Line>): Line | null {
  try {
    const parsed = schema.safeParse(JSON.parse(line.toString()));
    return parsed.success ? parsed.data : null;
  } catch {
    // no JSON: the caller names the file
    return null;
  }
}

function looksLike(start: Buffer, beginning: string): boolean {
  return start.length === 0 || beginning.startsWith(start.toString().slice(0, beginning.length));
}

function notOurs(place: string): CodedError {
  return new CodedError(
    'conflict',
    `The file ${place} does not end in a line of the audit log, so it is left as it is. Move it away or set LEMNISCATE_SINK_FILE to another place.`,
    { place },
  );
}
