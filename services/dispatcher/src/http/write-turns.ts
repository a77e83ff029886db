/** Writes of one answer. */
export interface WriteLine {
  write(bytes: Uint8Array): void;
  /** Writes what waits, of all lines. */
  flush(): void;
  /** What waits is dropped, since nobody takes it any more. */
  close(): void;
}

export interface WriteTurns {
  open(write: (bytes: Uint8Array) => void): WriteLine;
}

/** With fewer answers open there is processor time enough, and a piece is written in the moment it comes. */
const manyLines = 64;
/** So many pieces are written together, or as many as came within the time. */
const turnPieces = 8;
const turnMs = 1;

/**
 * Lets the pieces of many answers be written together. Answers of HTTP/2 share a connection, and what is written to it
 * in one turn of the event loop is one TLS record and one system call, here and where it is read.
 */
export function createWriteTurns(): WriteTurns {
  let lines = 0;
  let waiting: { readonly line: Line; readonly bytes: Uint8Array }[] = [];
  let timer: NodeJS.Timeout | null = null;

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const pieces = waiting;
    waiting = [];
    for (const { line, bytes } of pieces) if (line.open) line.send(bytes);
  };
  return {
    open: (send) => {
      const line: Line = { open: true, send };
      lines += 1;
      return {
        write: (bytes) => {
          if (lines < manyLines && waiting.length === 0) return send(bytes);
          waiting.push({ line, bytes });
          if (waiting.length >= turnPieces) flush();
          else timer ??= setTimeout(flush, turnMs);
        },
        flush,
        close: () => {
          if (line.open) lines -= 1;
          line.open = false;
        },
      };
    },
  };
}

interface Line {
  open: boolean;
  readonly send: (bytes: Uint8Array) => void;
}
