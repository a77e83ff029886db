import type { Readable } from 'node:stream';
import type { AnswerBody, TakeBytes } from '../../application/ports/model-provider.ts';
import { toProviderError } from './provider-faults.ts';

/** The body of a provider's answer; its faults name the provider. */
export function createAnswerBody(body: Readable, provider: string): AnswerBody {
  return {
    [Symbol.asyncIterator]: () => iterate(body, provider),
    deliver: (take) => deliver(body, take, provider),
  };
}

async function* iterate(body: Readable, provider: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw toProviderError(error, provider);
  }
}

function deliver(body: Readable, take: TakeBytes, provider: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(toProviderError(error, provider));
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
