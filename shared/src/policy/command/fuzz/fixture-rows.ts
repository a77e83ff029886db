import { readdirSync, readFileSync } from 'node:fs';

/** One row of a table: command, free prefixes, expected verdict, why. */
interface Row {
  readonly command: string;
  readonly free: readonly string[];
  readonly expected: string;
  readonly why: string;
}

const folder = new URL('../fixtures/', import.meta.url);

/** Names of all tables. */
export function fixtureFiles(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.tsv'));
}

/** Columns are separated by tabs; `\n`, `\t`, `\"`, `\\` and `\uXXXX` mean what they mean in JSON. */
export function readRows(file: string): Row[] {
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('## '))
    .map((line) => {
      const [command = '', free = '', expected = '', why = ''] = line.split('\t');
      return {
        command: JSON.parse(
          `"${command.replace(/\\.|"/gs, (found) => (found === '"' ? '\\"' : found))}"`,
        ) as string,
        free: free.split(',').filter((prefix) => prefix !== ''),
        expected,
        why,
      };
    });
}
