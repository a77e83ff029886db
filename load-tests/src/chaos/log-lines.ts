import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const errorLevel = 50;
const lineSchema = z.union([
  z.object({ level: z.number(), msg: z.string() }),
  // The exporter names its levels.
  z
    .object({ level: z.string(), message: z.string() })
    .transform(({ level, message }) => ({ level: level === 'error' ? errorLevel : 0, msg: message })),
]);

/** How often each error stands in the logs of a folder. Lines of other programs are not JSON and not counted. */
export function countErrors(folder: string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.log')) continue;
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      const error = readError(line);
      if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1);
    }
  }
  return Object.fromEntries([...counts].toSorted(([, left], [, right]) => right - left));
}

function readError(line: string): string | null {
  if (!line.startsWith('{')) return null;
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch (error) {
    // A process that was killed while it wrote.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const { success, data } = lineSchema.safeParse(said);
  return success && data.level >= errorLevel ? data.msg : null;
}
