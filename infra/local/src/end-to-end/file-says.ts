import { readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Waits until a file's text is as wanted: looks at once and whenever something in its folder changes.
 * @throws Error after `withinMs`, with `what`
 */
export async function fileSays(
  path: string,
  what: string,
  look: (text: string) => boolean,
  withinMs = 20_000,
): Promise<void> {
  const seen = Promise.withResolvers<void>();
  const check = (): void => {
    if (look(read(path))) seen.resolve();
  };
  // watches before it looks: a change between the two would be missed
  const watcher = watch(dirname(path), check);
  watcher.on('error', seen.reject);
  const timer = setTimeout(() => seen.reject(new Error(`not seen within ${withinMs} ms: ${what}`)), withinMs);
  try {
    check();
    await seen.promise;
  } finally {
    clearTimeout(timer);
    watcher.close();
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // not written yet
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
