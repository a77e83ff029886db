import type { IncomingMessage } from 'node:http';

/** The body of a request, or why it is not taken. `done` is to be called when it is of no use any more. */
export type TakenBody =
  | { readonly kind: 'taken'; readonly bytes: Buffer; done(): void }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_room' };

export interface BodyBounds {
  /** Longest body. Bytes. */
  readonly maxBytes: number;
  /** All bodies that are held at the same time. Bytes. */
  readonly maxHeldBytes: number;
}

/** What is read past a bound before the sender has its answer, at most so many times the longest body. */
const readPast = 4;

/**
 * Takes the bodies of requests within one bound for all of them: whatever runs in a sandbox can send, and its host's
 * memory is everybody's. A sender that is refused is read to its end all the same, since one that still writes when its
 * connection is closed never reads why.
 */
export function createBodyRoom({ maxBytes, maxHeldBytes }: BodyBounds): {
  take(request: IncomingMessage): Promise<TakenBody>;
} {
  let held = 0;
  return {
    take: async (request) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      let kept = 0;
      let refused: 'too_large' | 'no_room' | null = null;
      const letGo = (): void => {
        held -= kept;
        kept = 0;
        pieces.length = 0;
      };
      try {
        for await (const piece of request as AsyncIterable<Buffer>) {
          bytes += piece.length;
          if (bytes > maxBytes) refused = 'too_large';
          else if (held + piece.length > maxHeldBytes) refused ??= 'no_room';
          if (bytes > readPast * maxBytes) break;
          if (refused !== null) {
            letGo();
            continue;
          }
          held += piece.length;
          kept += piece.length;
          pieces.push(piece);
        }
      } catch (error) {
        letGo();
        throw error;
      }
      return refused === null
        ? { kind: 'taken', bytes: Buffer.concat(pieces), done: letGo }
        : { kind: refused };
    },
  };
}
