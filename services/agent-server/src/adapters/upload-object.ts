import { createReadStream } from 'node:fs';
import { request } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { UploadObject } from '../application/ports/patch-spool.ts';

const deadlineMs = 10 * 60_000;
const answerBytes = 4096;

/** Puts a file to a presigned address. The address is a credential: it never appears in an error. */
export const uploadObject: UploadObject = async (file, bytes, put, signal) => {
  const content = createReadStream(file);
  try {
    const answer = await request(put.url, {
      method: 'PUT',
      headers: { ...put.headers, 'content-length': String(bytes) },
      body: content,
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    });
    const told = await readHead(answer.body);
    if (answer.statusCode >= 200 && answer.statusCode < 300) return;
    throw new CodedError(
      'storage_failed',
      `The object store answered ${answer.statusCode} to an upload: ${told}`,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CodedError) throw error;
    throw new CodedError(
      'storage_failed',
      `An upload to ${new URL(put.url).host} failed: ${(error as Error).message}.`,
      {},
      error,
    );
  } finally {
    content.destroy();
  }
};

async function readHead(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const piece of body) {
    text += piece.toString('utf8');
    if (text.length > answerBytes) break;
  }
  return text.slice(0, answerBytes);
}
