import { cut } from '../text-stream.ts';
import { decodeText } from './file-content.ts';
import { explain, operand, runProgram, script } from './sandbox-program.ts';
import { failure } from './tool.ts';
import type { Tool } from './tool.ts';

/** Without a limit the model gets this many lines, and it never gets more than this many bytes. */
const defaultLines = 2000;
const maxBytes = 128 * 1024;
const maxLineLength = 2000;

const readPart = `
[ -e "$1" ] || exit 81
[ -d "$1" ] && exit 82
[ -f "$1" ] || exit 83
tail -n "+$2" -- "$1" | head -n "$3"`;

/** Lines with their numbers; one line more than asked is read, to know whether the file goes on. */
export const readFile: Tool<'read_file'> = {
  title: (input) => input.path,
  run: async ({ path, offset = 1, limit = defaultLines }, context) => {
    const argv = script(readPart, operand(path), String(offset), String(limit + 1));
    const run = await runProgram(context, argv, maxBytes);
    // The pipe's exit code is head's: what tail could not read shows only on its stderr.
    const unread = run.stdout.length === 0 && run.stderr !== '';
    if (unread || (run.end.exitCode !== 0 && !run.truncated)) return failure(explain(run, path));
    if (run.stdout.includes(0)) return failure(`${path} is a binary file.`);
    return { isError: false, text: number(run.stdout, offset, limit, run.truncated, path) };
  },
};

function number(bytes: Buffer, offset: number, limit: number, truncated: boolean, path: string): string {
  const text = decodeText(bytes) ?? bytes.toString('utf8');
  const lines = text.split('\n');
  // The piece after the last line feed: nothing, or a line that the byte bound has cut.
  if (truncated || lines.at(-1) === '') lines.pop();
  const more = truncated || lines.length > limit;
  const shown = lines.slice(0, limit);
  if (shown.length === 0) {
    if (truncated)
      return `Line ${offset} of ${path} is longer than ${maxBytes} bytes; look at it with a command.`;
    return offset === 1 ? `${path} is empty.` : `${path} has fewer than ${offset} lines.`;
  }
  const notes: string[] = [];
  if (shown.some((line) => line.endsWith('\r'))) notes.push('(Lines end in CR LF.)');
  if (text.includes('\ufffd')) notes.push('(Some bytes are not UTF-8 and are shown as \ufffd.)');
  if (more) notes.push(`(The file goes on; read further with offset ${offset + shown.length}.)`);
  const numbered = shown.map((line, index) => `${String(offset + index).padStart(6)}\t${shorten(line)}`);
  return [...numbered, ...notes].join('\n');
}

function shorten(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.length > maxLineLength ? `${cut(text, maxLineLength)} …(line cut)` : text;
}
