import { createHash } from 'node:crypto';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

/**
 * Does the work when no other process on this machine does work of the same name; others wait. The turn is an abstract
 * socket: the kernel ends it with the process that holds it, and whoever waits is connected to it and so learns of its
 * end without looking.
 */
export async function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const address = `\0lemniscate-turn-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const turn = await takeTurn(address);
  try {
    return await work();
  } finally {
    await turn.release();
  }
}

async function takeTurn(address: string): Promise<{ release(): Promise<void> }> {
  for (;;) {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => waiting.delete(socket));
    });
    if (await listens(server, address))
      return {
        release: () =>
          new Promise((settle) => {
            server.close(() => settle());
            for (const socket of waiting) socket.destroy();
          }),
      };
    await endOfHolder(address);
  }
}

function listens(server: Server, address: string): Promise<boolean> {
  return new Promise((settle, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? settle(false) : fail(error),
    );
    server.listen(address, () => settle(true));
  });
}

/** Resolves when the holder has released or died; one that is gone already refuses the connection. */
function endOfHolder(address: string): Promise<void> {
  return new Promise((settle) => {
    const socket = connect(address);
    socket.on('error', () => socket.destroy()).on('close', () => settle());
    socket.resume();
  });
}
