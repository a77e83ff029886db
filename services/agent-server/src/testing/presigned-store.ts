import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { UploadAnswer, UploadRequest } from '@lemniscate/shared/protocol/session-result.ts';

/** An object store as an uploader meets it: one PUT to an address with signed headers, verified on completion. */
export interface PresignedStore {
  announce(request: UploadRequest): UploadAnswer;
  /** @throws CodedError `digest_mismatch` */
  complete(uploadId: string): Buffer;
  /** An address from which the bytes of an upload can be read. */
  address(uploadId: string): string;
  /** Every PUT and GET is answered with an error until it is false again. */
  failing: boolean;
  /** Makes a content readable at an address. */
  publish(bytes: string): { readonly sha256: string; readonly bytes: number };
  /** Where a content can be read; undefined for one that was never published. */
  contentAddress(sha256: string): string | undefined;
  /** How often contents were read. */
  readonly reads: () => number;
  close(): Promise<void>;
}

export async function startPresignedStore(): Promise<PresignedStore> {
  const announced = new Map<string, UploadRequest>();
  const stored = new Map<string, Buffer>();
  const published = new Map<string, string>();
  let reads = 0;
  const server = createServer((request, response) => {
    if (self.failing) return void response.writeHead(503).end();
    const content = published.get(request.url?.split('/content/')[1] ?? '');
    if (request.method === 'GET' && content !== undefined) {
      reads += 1;
      return void response.writeHead(200).end(content);
    }
    if (request.method === 'GET') {
      const found = stored.get(request.url?.slice(1) ?? '');
      return void response.writeHead(found === undefined ? 404 : 200).end(found);
    }
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const id = request.url?.slice(1) ?? '';
      const allowed = request.method === 'PUT' && request.headers['x-signed'] === id && announced.has(id);
      if (allowed) stored.set(id, Buffer.concat(pieces));
      response.writeHead(allowed ? 200 : 403).end();
    });
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const self: PresignedStore = {
    failing: false,
    address: (uploadId) => `http://127.0.0.1:${port}/${uploadId}`,
    announce: (request) => {
      const uploadId = `upl${announced.size + 1}`;
      announced.set(uploadId, request);
      return {
        uploadId,
        put: { url: `http://127.0.0.1:${port}/${uploadId}`, headers: { 'x-signed': uploadId } },
      };
    },
    publish: (text) => {
      const sha256 = createHash('sha256').update(text).digest('hex');
      published.set(sha256, text);
      return { sha256, bytes: Buffer.byteLength(text) };
    },
    contentAddress: (sha256) =>
      published.has(sha256) ? `http://127.0.0.1:${port}/content/${sha256}` : undefined,
    reads: () => reads,
    complete: (uploadId) => {
      const bytes = stored.get(uploadId);
      const request = announced.get(uploadId);
      const digest = createHash('sha256')
        .update(bytes ?? '')
        .digest('hex');
      if (bytes !== undefined && bytes.length === request?.bytes && digest === request.sha256) return bytes;
      throw new CodedError('digest_mismatch', 'The bytes are not the ones announced.');
    },
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return self;
}
