import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, lstatSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join, normalize } from 'node:path';
import { text } from 'node:stream/consumers';
import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { lfsPointerText } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { IssuedCertificate } from './certificates.ts';

/** A git host with large files, over https: static repositories and the batch API with the basic transfer. */
export interface LfsServer {
  readonly host: string;
  /** Puts an object there. @returns its pointer */
  put(contents: Buffer | string): string;
  /** What it gives instead of an object's contents. */
  readonly instead: Map<
    string,
    {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      readonly breaks?: boolean;
    }
  >;
  /** The address that the batch API names for an object, where it is not its own. */
  readonly elsewhere: Map<string, string>;
  /** Requests so far: method and path, and of a batch the ids. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** @param folder holds bare repositories, with `git update-server-info` done */
export async function startLfsServer(folder: string, { cert, key }: IssuedCertificate): Promise<LfsServer> {
  const objects = new Map<string, Buffer>();
  const instead: LfsServer['instead'] = new Map();
  const elsewhere = new Map<string, string>();
  const asked: string[] = [];
  let host = '';

  const batch = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { objects: wanted } = JSON.parse(await text(request)) as { objects: LfsObject[] };
    asked.push(...wanted.map(({ oid }) => `batch ${oid}`));
    response.setHeader('content-type', 'application/vnd.git-lfs+json');
    const found = wanted.map(({ oid, size }) => {
      if (!objects.has(oid)) return { oid, size, error: { code: 404, message: 'Object does not exist' } };
      const href = elsewhere.get(oid) ?? `https://${host}/objects/${oid}`;
      return { oid, size, actions: { download: { href, header: { authorization: 'Basic for-this-host' } } } };
    });
    response.end(JSON.stringify({ transfer: 'basic', objects: found }));
  };

  const object = (oid: string, request: IncomingMessage, response: ServerResponse): void => {
    const other = instead.get(oid);
    const contents = objects.get(oid);
    if (other?.breaks === true)
      response.writeHead(other.status, other.headers).write(other.body ?? '', () => response.destroy());
    else if (other !== undefined) response.writeHead(other.status, other.headers).end(other.body);
    else if (contents === undefined || request.headers.authorization !== 'Basic for-this-host')
      response.writeHead(403).end();
    else response.end(contents);
  };

  const server = createServer({ cert, key }, (request, response) => {
    const path = new URL(request.url ?? '/', 'https://x').pathname;
    asked.push(`${request.method} ${path}`);
    if (path.endsWith('/info/lfs/objects/batch')) return void batch(request, response);
    const [, oid] = /^\/objects\/([0-9a-f]{64})$/.exec(path) ?? [];
    if (oid !== undefined) return object(oid, request, response);
    const file = join(folder, normalize(path));
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true)
      return void response.writeHead(404).end();
    createReadStream(file).pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  host = `localhost:${address.port}`;
  return {
    host,
    put(contents) {
      const bytes = Buffer.from(contents);
      const oid = createHash('sha256').update(bytes).digest('hex');
      objects.set(oid, bytes);
      return lfsPointerText({ oid, size: bytes.length });
    },
    instead,
    elsewhere,
    asked,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
