import type { Redis } from 'ioredis';

/**
 * What is asked of Redis in one turn of the event loop leaves as one write. The driver writes once a command, and a session
 * has some ten of them on its way; with many sessions under way their commands travel together.
 *
 * The turn ends with the promises that it settled: a tick that is asked for now comes behind them. Waiting for the turn's
 * other events too (`setImmediate`) let every command wait for every socket, and at half load a session started 44 ms after
 * it was accepted instead of 7 (`npm run bench -- dispatch`, 2026-11-30).
 */
export function writeOnceATurn(redis: Pick<Redis, 'stream' | 'on'>): void {
  let joined: Redis['stream'] | undefined;
  const join = (): void => {
    const { stream } = redis;
    // A connection that broke has another stream when it comes back.
    if (stream === undefined || stream === joined) return;
    joined = stream;
    corkEachTurn(stream);
  };
  redis.on('connect', join);
  join();
}

function corkEachTurn(stream: Redis['stream']): void {
  const write = stream.write.bind(stream) as (...given: unknown[]) => boolean;
  let corked = false;
  stream.write = (...given: unknown[]): boolean => {
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(() => {
        corked = false;
        stream.uncork();
      });
    }
    return write(...given);
  };
}
