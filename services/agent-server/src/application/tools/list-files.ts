import { explain, operand, runProgram, script } from './sandbox-program.ts';
import { failure } from './tool.ts';
import type { Tool } from './tool.ts';

const defaultDepth = 3;
const maxEntries = 2000;
const maxBytes = 512 * 1024;

const listBelow = `
[ -e "$1" ] || exit 81
[ -d "$1" ] || exit 84
exec find "$1" -mindepth 1 -maxdepth "$2" \\( -name .git -o -name .hg -o -name .svn -o -name node_modules \\) -prune \\
  -o -printf '%y%P\\0'`;

/** Paths below a folder, folders with a slash at their end, sorted. */
export const listFiles: Tool<'list_files'> = {
  title: (input) => input.path ?? '.',
  run: async ({ path = '.', depth = defaultDepth }, context) => {
    const run = await runProgram(context, script(listBelow, operand(path), String(depth)), maxBytes);
    // find answers 1 where it may not look into one folder; what it saw is still worth telling.
    if (run.stdout.length === 0 && run.end.exitCode !== 0) return failure(explain(run, path));
    const entries = run.stdout.toString('utf8').split('\0').slice(0, -1).map(describe).sort();
    if (entries.length === 0) return { isError: false, text: `${path} is empty.` };
    const shown = entries.slice(0, maxEntries);
    const more = run.truncated || entries.length > maxEntries;
    return {
      isError: false,
      text: [
        ...shown,
        ...(more ? ['(There is more; list a folder below, or with a smaller depth.)'] : []),
      ].join('\n'),
    };
  },
};

function describe(entry: string): string {
  const type = entry.charAt(0);
  const name = entry
    .slice(1)
    .replace(/[\u0000-\u001f\u007f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  if (type === 'd') return `${name}/`;
  return type === 'l' ? `${name}@` : name;
}
