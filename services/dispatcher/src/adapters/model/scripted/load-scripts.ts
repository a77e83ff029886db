import { readFile } from 'node:fs/promises';
import { parseScript } from './script.ts';
import type { Script } from './script.ts';

const folder = new URL('./scripts/', import.meta.url);
// The order in which instructions are offered to them.
const names = ['run-command', 'delegate', 'mend-failing-test', 'explore'];

/** Loads the scripts that ship with the provider. */
export async function loadScripts(): Promise<Script[]> {
  return Promise.all(
    names.map(async (name) => parseScript(name, await readFile(new URL(`${name}.yaml`, folder), 'utf8'))),
  );
}
