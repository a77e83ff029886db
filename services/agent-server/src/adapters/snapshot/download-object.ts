import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ReadableObject } from '../../application/ports/snapshots.ts';

const deadlineMs = 10 * 60_000;
const idleMs = 30_000;

/**
 * Reads an object from its presigned address into a file. Not a byte more than announced is taken, and the digest must
 * be the one announced. The address is a credential: it never appears in an error.
 * @throws CodedError `storage_failed`, `digest_mismatch`
 */
export async function downloadObject(
  object: ReadableObject,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > object.bytes) return done(mismatch(object, `more than ${object.bytes} bytes`));
      hash.update(chunk);
      return done(null, chunk);
    },
  });
  try {
    const answer = await request(object.url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new CodedError(
        'storage_failed',
        `The object store answered ${answer.statusCode} to a download.`,
        {
          status: answer.statusCode,
        },
      );
    }
    await pipeline(answer.body, measure, createWriteStream(file, { mode: 0o600 }));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CodedError) throw error;
    const why = error instanceof Error ? error.message : 'unknown';
    const { host } = new URL(object.url);
    throw new CodedError('storage_failed', `A download from ${host} failed: ${why}.`, {}, error);
  }
  const found = hash.digest('hex');
  if (bytes !== object.bytes || found !== object.sha256)
    throw mismatch(object, `${bytes} bytes with digest ${found}`);
}

function mismatch(object: ReadableObject, found: string): CodedError {
  return new CodedError(
    'digest_mismatch',
    `The object store has other bytes than were stored: ${object.bytes} with digest ${object.sha256} were expected, it sent ${found}.`,
  );
}
