import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** What an instruction may hold with everything attached, in bytes; the API's own bound is 100,000 characters. */
const maxBytes = 90_000;

/**
 * Text files as a part of the instruction, named so that the model can tell them apart.
 * @throws CodedError `request_invalid` for a file that is missing, too large or no text
 */
export async function readAttachments(files: readonly string[]): Promise<string> {
  let room = maxBytes;
  const parts: string[] = [];
  for (const file of files) {
    const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
      throw refused(file, `cannot be read (${error.code ?? error.message})`);
    });
    room -= size;
    if (room < 0)
      throw refused(file, `makes the instruction larger than ${maxBytes} bytes; put it into the repository`);
    const bytes = await readFile(file);
    const text = decode(bytes);
    if (text === null) throw refused(file, 'is not UTF-8 text; put it into the repository');
    parts.push(`\n\n<attached name=${JSON.stringify(basename(file))}>\n${text}\n</attached>`);
  }
  return parts.join('');
}

function decode(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function refused(file: string, why: string): CodedError {
  return new CodedError('request_invalid', `The attachment ${JSON.stringify(file)} ${why}.`);
}
