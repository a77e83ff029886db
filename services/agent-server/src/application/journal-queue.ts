import type { JournalBatch } from './ports/dispatcher.ts';
import type { JournalFiles } from './ports/journal-store.ts';

/** Sizes in bytes, counts in events. */
export interface JournalBounds {
  /** Output waits while more than this is unacknowledged; facts go on. */
  readonly unacknowledgedBytes: number;
  readonly unacknowledgedEvents: number;
  /** Beyond this, events are read back from disk when their turn to be sent comes. */
  readonly memoryBytes: number;
  readonly batchBytes: number;
  readonly batchEvents: number;
  readonly segmentBytes: number;
}

const mebibyte = 1024 * 1024;
export const defaultJournalBounds: JournalBounds = {
  unacknowledgedBytes: 64 * mebibyte,
  unacknowledgedEvents: 50_000,
  memoryBytes: mebibyte,
  batchBytes: mebibyte,
  batchEvents: 500,
  segmentBytes: 8 * mebibyte,
};

interface Entry {
  readonly seq: number;
  bytes: number;
  /** Null when only the disk has it. */
  line: Buffer | null;
  segment: number;
  offset: number;
}

/** What is unacknowledged. */
export interface JournalBacklog {
  readonly events: number;
  readonly bytes: number;
}

/** The unacknowledged events of one attempt and where their bytes are. Knows nothing of sending. */
export interface JournalQueue {
  add(line: Buffer): number;
  unwritten(): number;
  sendable(): number;
  empty(): boolean;
  hasRoom(): boolean;
  backlog(): JournalBacklog;
  acknowledgedSeq(): number;
  /** Writes what is not yet on disk, as much of it as its segment takes. One call at a time. */
  write(): Promise<void>;
  /** After a failed write: what is unwritten becomes sendable from memory. */
  keepInMemory(): void;
  /** The next events in order, within the batch's bounds and at most `limit` of them; at least one. */
  batch(limit: number): Promise<JournalBatch>;
  acknowledge(seq: number): Promise<void>;
  /** Puts another event in the place of the oldest unacknowledged one. */
  replaceFirst(line: Buffer): void;
}

export function createJournalQueue(files: JournalFiles, given: Partial<JournalBounds> = {}): JournalQueue {
  const bounds = { ...defaultJournalBounds, ...given };
  let entries: Entry[] = [];
  let lastSeq = 0;
  let acknowledged = 0;
  let writtenSeq = 0;
  let bytes = 0;
  let memoryBytes = 0;
  let segment = 1;
  let segmentBytes = 0;
  let oldestSegment = 1;

  const written = () => writtenSeq - acknowledged;

  function settle(entry: Entry): void {
    writtenSeq = entry.seq;
    if (memoryBytes <= bounds.memoryBytes || entry.line === null || entry.segment === 0) return;
    memoryBytes -= entry.line.length;
    entry.line = null;
  }

  /** Stops at the segment's bound: behind a slow disk, one write of all that waits would make one segment of everything. */
  function nextToWrite(): readonly Entry[] {
    const unwritten = entries.slice(written());
    let size = segmentBytes;
    const full = unwritten.findIndex((entry) => {
      size += entry.bytes + 1;
      return size > bounds.segmentBytes;
    });
    return full === -1 ? unwritten : unwritten.slice(0, full + 1);
  }

  async function dropSegments(): Promise<void> {
    const firstNeeded = entries.find((entry) => entry.segment > 0)?.segment ?? segment;
    while (oldestSegment < firstNeeded) {
      await files.drop(oldestSegment);
      oldestSegment += 1;
    }
  }

  return {
    add: (line) => {
      lastSeq += 1;
      bytes += line.length;
      memoryBytes += line.length;
      entries.push({ seq: lastSeq, bytes: line.length, line, segment: 0, offset: 0 });
      return lastSeq;
    },
    unwritten: () => lastSeq - writtenSeq,
    sendable: written,
    empty: () => acknowledged === lastSeq,
    hasRoom: () => bytes <= bounds.unacknowledgedBytes && entries.length <= bounds.unacknowledgedEvents,
    backlog: () => ({ events: entries.length, bytes }),
    acknowledgedSeq: () => acknowledged,
    write: async () => {
      if (segmentBytes > bounds.segmentBytes) {
        segment += 1;
        segmentBytes = 0;
      }
      const todo = nextToWrite();
      const lines = todo.flatMap((entry) => (entry.line === null ? [] : [entry.line, newline]));
      const block = Buffer.concat(lines);
      await files.append(segment, block);
      for (const entry of todo) {
        entry.segment = segment;
        entry.offset = segmentBytes;
        segmentBytes += entry.bytes + 1;
        settle(entry);
      }
    },
    keepInMemory: () => {
      writtenSeq = lastSeq;
      // A failed write may have left half a line behind, after which offsets in this segment would lie.
      segment += 1;
      segmentBytes = 0;
    },
    batch: async (limit) => {
      const lines: Uint8Array[] = [];
      let size = 0;
      for (const entry of entries.slice(0, Math.min(limit, bounds.batchEvents, written()))) {
        if (lines.length > 0 && size + entry.bytes > bounds.batchBytes) break;
        lines.push(entry.line ?? (await files.read(entry.segment, entry.offset, entry.bytes)));
        size += entry.bytes;
      }
      return { firstSeq: acknowledged + 1, lines };
    },
    acknowledge: async (seq) => {
      const count = Math.min(seq, writtenSeq) - acknowledged;
      if (count <= 0) return;
      for (const entry of entries.slice(0, count)) {
        bytes -= entry.bytes;
        if (entry.line !== null) memoryBytes -= entry.line.length;
      }
      entries = entries.slice(count);
      acknowledged += count;
      await dropSegments();
    },
    replaceFirst: (line) => {
      const first = entries[0];
      if (first === undefined) return;
      bytes += line.length - first.bytes;
      memoryBytes += line.length - (first.line?.length ?? 0);
      first.line = line;
      first.bytes = line.length;
    },
  };
}

const newline = Buffer.from('\n');
