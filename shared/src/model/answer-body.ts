/** Takes a piece of an answer. A promise: the next piece waits until the receiver has room again. */
export type TakeBytes = (bytes: Uint8Array) => Promise<void> | null;

/** The bytes of an answer, read by one reader once. Both ways end in all cases: with the answer, or by throwing. */
export interface AnswerBody extends AsyncIterable<Uint8Array> {
  /**
   * Hands each piece over in the moment it arrives, without a turn of the event loop or a promise a piece (200 streams
   * of 50 pieces a second: a third less processor time than iterating). Absent where iterating costs nothing more.
   */
  deliver?(take: TakeBytes): Promise<void>;
}

/** What is used of a stream of Node. */
export interface ByteStream extends AsyncIterable<unknown> {
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown;
  once(event: 'end' | 'close', listener: () => void): unknown;
  once(event: 'error', listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
}

/** Both ways of reading a body that arrives as a stream. @param toFault what a reader is told when it breaks */
export function createAnswerBody(body: ByteStream, toFault: (error: unknown) => unknown): AnswerBody {
  return {
    [Symbol.asyncIterator]: () => iterate(body, toFault),
    deliver: (take) => deliver(body, take, toFault),
  };
}

async function* iterate(body: ByteStream, toFault: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw toFault(error);
  }
}

function deliver(body: ByteStream, take: TakeBytes, toFault: (error: unknown) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(toFault(error));
      body.destroy();
    };
    body.on('data', (bytes: Uint8Array) => {
      try {
        const room = take(bytes);
        if (room === null) return;
        body.pause();
        room.then(() => body.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    body.once('end', resolve);
    body.once('error', fail);
    // A body that was destroyed without a word ends here; after an end or an error this changes nothing.
    body.once('close', () => fail(new Error('the answer was closed before its end')));
  });
}
