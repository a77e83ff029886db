import type { RuntimeContext } from '../runtime.ts';

/** Longest instructions of a repository that a program is told. Bytes. */
const memoryBytes = 64 * 1024;

type Inside = Pick<RuntimeContext, 'sandbox' | 'signal'>;

async function output({ sandbox, signal }: Inside, argv: readonly string[]): Promise<string | null> {
  const execution = sandbox.run({ argv, timeoutMs: 10_000, maxOutputBytes: memoryBytes, signal });
  const pieces: Uint8Array[] = [];
  for await (const { stream, bytes } of execution.output) if (stream === 'stdout') pieces.push(bytes);
  return (await execution.end).exitCode === 0 ? Buffer.concat(pieces).toString('utf8') : null;
}

export async function fileExists(inside: Inside, path: string): Promise<boolean> {
  return (await output(inside, ['test', '-f', path])) !== null;
}

/**
 * Waits until a file holds a text, up to a second. Asked within the sandbox, since the host touches what lies there only
 * after its programs are gone.
 */
export async function untilFileHolds(inside: Inside, path: string, text: string): Promise<boolean> {
  const look = 'for i in {1..40}; do grep -qsF -- "$1" "$0" && exit 0; sleep 0.025; done; exit 1';
  return (await output(inside, ['bash', '-c', look, path, text])) !== null;
}

/** The newest file of a name below a folder; null where there is none. */
export async function newestFile(inside: Inside, folder: string, name: string): Promise<string | null> {
  const find = 'find "$0" -name "$1" -printf "%T@ %p\\n" 2>/dev/null | sort -rn | head -1';
  const found = await output(inside, ['bash', '-c', find, folder, name]);
  return found === null || found.trim() === '' ? null : found.trim().replace(/^\S+ /, '');
}

/**
 * What the repository tells agents, from the first of the files that it has. Read by us, since a program that reads a
 * repository's instructions by itself reads its settings too.
 */
export async function readMemory(inside: Inside, names: readonly string[]): Promise<string> {
  for (const name of names) {
    const text = await output(inside, ['cat', `/workspace/${name}`]);
    if (text !== null && text.trim() !== '') return `The repository's own instructions (${name}):\n\n${text}`;
  }
  return '';
}
