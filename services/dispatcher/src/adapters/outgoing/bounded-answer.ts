import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/**
 * An answer whose body breaks off where it is longer than a bound, whatever its headers say.
 * @param onBroken is told of it: not every reader of a body notices
 */
export function boundedAnswer(
  answer: Response,
  host: string,
  maxBytes: number,
  onBroken?: (error: CodedError) => void,
): Response {
  if (answer.body === null) return answer;
  let bytes = 0;
  const body = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.byteLength;
        if (bytes <= maxBytes) return controller.enqueue(chunk);
        const error = new CodedError(
          'service_unreachable',
          `${host} answered with more than ${maxBytes} bytes.`,
        );
        onBroken?.(error);
        controller.error(error);
      },
    }),
  );
  return new Response(body, {
    status: answer.status,
    statusText: answer.statusText,
    headers: new Headers([...answer.headers]),
  });
}

/** A `fetch` for libraries that read the whole of what they are answered. */
export function createBoundedFetch(maxBytes: number) {
  return async (address: string, init: object): Promise<Response> =>
    boundedAnswer(await fetch(address, init), new URL(address).host, maxBytes);
}
