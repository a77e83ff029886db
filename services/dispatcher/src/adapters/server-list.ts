import { readFile } from 'node:fs/promises';
import { parseConfiguredServers } from '../application/servers/configured-server.ts';
import type { ConfiguredServer } from '../application/servers/configured-server.ts';
import type { Log } from '../application/ports/log.ts';

/**
 * The agent servers that an operator lists: those of the variable, and those of the file as it is at the moment. Lines
 * that begin with `#` are comments. A file that cannot be read changes nothing and is told once: half a list must not
 * take servers out of the rotation.
 */
export function createServerList(
  fixed: readonly ConfiguredServer[],
  file: string | undefined,
  log: Log,
): () => Promise<readonly ConfiguredServer[]> {
  let last = fixed;
  let lastFault = '';
  if (file === undefined) return () => Promise.resolve(fixed);
  const read = async (): Promise<readonly ConfiguredServer[]> => {
    const text = await readFile(file, 'utf8');
    const entries = text
      .split('\n')
      .filter((line) => !line.trimStart().startsWith('#'))
      .join(',');
    const parsed = parseConfiguredServers(entries);
    if ('fault' in parsed) throw new Error(parsed.fault);
    const urls = new Set(fixed.map(({ url }) => url));
    return [...fixed, ...parsed.servers.filter(({ url }) => !urls.has(url))];
  };
  return async () => {
    try {
      last = await read();
      lastFault = '';
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'unknown';
      if (fault !== lastFault)
        log.error(
          { file, err: error },
          'AGENT_SERVERS_FILE cannot be read; the list stays as it was until it can',
        );
      lastFault = fault;
    }
    return last;
  };
}
