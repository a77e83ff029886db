import { hash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ObjectCache } from '../application/ports/object-cache.ts';

const pullMs = 60_000;
// A warm pull reads 1,000 small files: 33 ms like this, 57 ms with the reader of node:fs/promises, which makes a handle a
// file. Reading synchronously takes 9 ms and is rejected: a slow disk would hold up every other session.
const readWhole = promisify(readFile);

/**
 * A folder of files named by digest. Whatever is read is checked again: a torn write or a bad disk is as good as absent.
 * @param maxBytes what the folder may hold after a trim
 */
export function createObjectCache(folder: string, maxBytes: number): ObjectCache {
  const fileOf = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);
  const write = async (sha256: string, bytes: Buffer): Promise<string> => {
    const file = fileOf(sha256);
    await mkdir(join(folder, sha256.slice(0, 2)), { recursive: true, mode: 0o700 });
    const draft = `${file}.${randomUUID()}`;
    await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
    return file;
  };
  return {
    read: async (sha256) => {
      const bytes = await readWhole(fileOf(sha256)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
      return bytes === null || digestOf(bytes) !== sha256 ? null : bytes;
    },
    keep: async (bytes) => {
      const sha256 = digestOf(bytes);
      return { sha256, file: await write(sha256, bytes) };
    },
    pull: async (address, { sha256, bytes: length }, signal) => {
      const bytes = await download(address, length, signal);
      if (bytes.length !== length || digestOf(bytes) !== sha256)
        throw new CodedError('digest_mismatch', `The store gave other bytes than ${sha256}.`, { sha256 });
      await write(sha256, bytes);
      return bytes;
    },
    trim: async () => {
      const files = await listFiles(folder);
      let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const { file, bytes } of files.toSorted((left, right) => left.usedMs - right.usedMs)) {
        if (total <= maxBytes) return;
        await rm(file, { force: true });
        total -= bytes;
      }
    },
  };
}

const digestOf = (bytes: Buffer): string => hash('sha256', bytes);

/** The address is a credential: it never appears in an error. */
async function download(address: string, length: number, signal: AbortSignal): Promise<Buffer> {
  try {
    const answer = await request(address, { signal: AbortSignal.any([signal, AbortSignal.timeout(pullMs)]) });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new CodedError(
        'storage_failed',
        `The object store answered ${answer.statusCode} to a download.`,
        {
          mayPass: answer.statusCode >= 500 || answer.statusCode === 429,
        },
      );
    }
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      // No more than was announced is held; the digest then tells.
      if (bytes > length) break;
      pieces.push(piece);
    }
    return bytes > length ? Buffer.alloc(0) : Buffer.concat(pieces);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CodedError) throw error;
    const { host } = new URL(address);
    throw new CodedError('storage_failed', `A download from ${host} failed.`, { mayPass: true }, error);
  }
}

async function listFiles(folder: string): Promise<{ file: string; bytes: number; usedMs: number }[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const found = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      // a file that was dropped meanwhile
      const facts = await stat(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
      return facts?.isFile() === true ? [{ file, bytes: facts.size, usedMs: facts.mtimeMs }] : [];
    }),
  );
  return found.flat();
}
