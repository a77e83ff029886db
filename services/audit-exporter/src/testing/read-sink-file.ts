import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import type { SinkLine } from '@lemniscate/shared/audit/sink-line.ts';

/** Every line of a sink's file, checked; a file that is not there has none. */
export async function readSinkFile(path: string): Promise<SinkLine[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => sinkLineSchema.parse(JSON.parse(line)));
}

/** How many whole lines a sink's file has: for waiting, where checking each line would take longer than the export. */
export async function countLines(path: string): Promise<number> {
  let lines = 0;
  try {
    for await (const chunk of createReadStream(path))
      for (const byte of chunk as Buffer) if (byte === 0x0a) lines += 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return lines;
}
