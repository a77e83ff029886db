import type { SandboxOutput } from '../../../application/ports/sandbox-driver.ts';

/** Output of one command between wire and reader. The writer pauses the wire when `push` answers false. */
export interface OutputQueue {
  readonly output: AsyncIterable<SandboxOutput>;
  /** False: enough is held; `onRoom` tells when the reader has taken it. */
  push(item: SandboxOutput): boolean;
  close(): void;
}

/** A queue bounded by bytes. A reader that leaves (`break`) turns it into a drain, so that the command can end. */
export function createOutputQueue(maxHeldBytes: number, onRoom: () => void): OutputQueue {
  const items: SandboxOutput[] = [];
  let held = 0;
  let closed = false;
  let abandoned = false;
  let wake: (() => void) | undefined;

  const notify = (): void => {
    wake?.();
    wake = undefined;
  };

  async function* read(): AsyncGenerator<SandboxOutput> {
    try {
      for (;;) {
        const item = items.shift();
        if (item !== undefined) {
          const wasFull = held >= maxHeldBytes;
          held -= item.bytes.length;
          if (wasFull && held < maxHeldBytes) onRoom();
          yield item;
          continue;
        }
        if (closed) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      abandoned = true;
      items.length = 0;
      held = 0;
      onRoom();
    }
  }

  return {
    output: read(),
    push(item) {
      if (abandoned || closed) return true;
      items.push(item);
      held += item.bytes.length;
      notify();
      return held < maxHeldBytes;
    },
    close() {
      closed = true;
      notify();
    },
  };
}
