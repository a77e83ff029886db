import type { Socket } from 'node:net';
import { Agent } from 'undici';
import { createReadGatherer } from './gather-reads.ts';

/** What a read of a socket takes at most; Node's own measure. Bytes. */
const readAtOnce = 64 * 1024;
const connectMs = 10_000;
const keepAliveMs = 60_000;

/**
 * The connections to providers. All of them read into one buffer, from which a piece is copied before the next read: Node
 * would lay out 64 KB for each read and a second buffer for the piece, which took a tenth of the processor time of relaying
 * it (docs/decisions/2026-11-30-relay-from-the-parser.md). Bounds, back-pressure and HTTP/2 are undici's, as without it.
 * @param more settings of TLS, such as an authority
 */
export function createProviderAgent(more: { readonly ca?: string | Buffer } = {}): Agent {
  const gatherer = createReadGatherer();
  const onread = {
    buffer: Buffer.allocUnsafeSlow(readAtOnce),
    callback(this: Socket, length: number, buffer: Uint8Array): boolean {
      gatherer.note();
      return this.push(Buffer.copyBytesFrom(buffer, 0, length));
    },
  };
  return new Agent({ connect: { timeout: connectMs, onread, ...more }, keepAliveTimeout: keepAliveMs });
}
