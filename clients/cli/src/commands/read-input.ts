import { readFile } from 'node:fs/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parse } from 'yaml';
import type { z } from 'zod';
import type { CommandIo } from '../io.ts';
import { standardInput } from '../standard-input.ts';

const maxSecretBytes = 64 * 1024;

/** Reads YAML, and so JSON. @throws CodedError `request_invalid` */
export async function readYaml(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CodedError('request_invalid', `${file} cannot be read: ${error.code ?? error.message}.`);
  });
  try {
    return parse(text, { maxAliasCount: 10 });
  } catch (error) {
    throw new CodedError('request_invalid', `${file} is not YAML: ${(error as Error).message}`);
  }
}

/**
 * Reads a definition out of a YAML file.
 * @param what it is the definition of, for the sentence
 * @throws CodedError `request_invalid` with every fault
 */
export async function readDefinition<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  what: string,
): Promise<z.output<Schema>> {
  const parsed = schema.safeParse(await readYaml(file));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError('request_invalid', `${file} is not the definition of ${what}. ${faults.join('; ')}.`);
}

/**
 * A secret from standard input, so that it stands in no history and no process list. One line end at its end is not part
 * of it.
 * @param usage the command as it is typed
 * @throws CodedError `request_invalid`
 */
export async function readSecret(io: CommandIo, usage: string): Promise<string> {
  if (io.interactive)
    throw new CodedError('request_invalid', `The secret comes on standard input: ${usage} < FILE`);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of standardInput(io) as AsyncIterable<Buffer | string>) {
    const chunk = Buffer.from(piece);
    bytes += chunk.length;
    if (bytes > maxSecretBytes)
      throw new CodedError('request_invalid', `The secret is longer than ${maxSecretBytes} bytes.`);
    pieces.push(chunk);
  }
  return Buffer.concat(pieces)
    .toString()
    .replace(/\r?\n$/, '');
}
