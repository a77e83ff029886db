import type { Config } from '../config.ts';

const longest = 4096;

/** The server's settings as text. There is no secret among them: keys and certificates are named by their files. */
export function settingsOfServer(config: Config): Record<string, string> {
  const settings = Object.entries(config as unknown as Record<string, unknown>).flatMap(
    ([name, value]): [string, string][] => {
      if (value === undefined) return [];
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [[name, text.slice(0, longest)]];
    },
  );
  return Object.fromEntries(settings);
}
