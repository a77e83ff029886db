import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * `open`: all passes. `cut`: connections break and are refused. `stalled`: they stay and nothing passes, which is what a
 * partition looks like. `deaf`: what is asked arrives, and the connection breaks at the first byte of the answer.
 */
export type LineState = 'open' | 'cut' | 'stalled' | 'deaf';

/** A line between two parts that the harness can break. */
export interface Line {
  readonly name: string;
  readonly port: number;
  set(state: LineState): void;
  close(): void;
}

/** Passes connections on to the port that `target` names at the moment. */
export async function openLine(name: string, target: () => number): Promise<Line> {
  let state: LineState = 'open';
  const pairs = new Set<readonly [near: Socket, far: Socket]>();
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(target(), '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end);
    near.on('data', (bytes) => pass(near, far, bytes));
    far.on('data', (bytes) => (state === 'deaf' ? end() : pass(far, near, bytes)));
    if (state === 'stalled') for (const socket of pair) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name,
    port: (server.address() as AddressInfo).port,
    set: (next) => {
      state = next;
      for (const pair of pairs)
        for (const socket of pair) {
          if (state === 'cut') socket.destroy();
          else if (state === 'stalled') socket.pause();
          else socket.resume();
        }
    },
    close: () => {
      server.close();
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
}

/** With back-pressure: a stalled line must not fill our memory. */
function pass(from: Socket, to: Socket, bytes: Buffer): void {
  if (to.write(bytes)) return;
  from.pause();
  to.once('drain', () => from.resume());
}
