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
