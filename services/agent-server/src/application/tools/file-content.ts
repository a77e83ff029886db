import { explain, operand, runProgram, script } from './sandbox-program.ts';
import type { ToolContext } from './tool.ts';

/** Files up to this size can be edited; the catalogue bounds written text likewise. */
export const editableBytes = 4 * 1024 * 1024;

export type FileContent =
  | { readonly ok: true; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly message: string };

const readWhole = `
[ -e "$1" ] || exit 81
[ -d "$1" ] && exit 82
[ -f "$1" ] || exit 83
exec cat -- "$1"`;

/** Reads a whole text file for an edit. Refuses what an edit would damage: binary content and text that is not UTF-8. */
export async function readText(context: ToolContext, path: string): Promise<FileContent> {
  const run = await runProgram(context, script(readWhole, operand(path)), editableBytes);
  if (run.truncated) {
    return { ok: false, message: `${path} is larger than ${editableBytes} bytes; change it with a command.` };
  }
  if (run.end.exitCode !== 0) return { ok: false, message: explain(run, path) };
  const text = decodeText(run.stdout);
  if (text === null)
    return { ok: false, message: `${path} is not a UTF-8 text file; change it with a command.` };
  return { ok: true, text, bytes: run.stdout.length };
}

/** The text, with its byte-order mark; null where it holds NUL or is not UTF-8. */
export function decodeText(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The decoder's only error: the bytes are not UTF-8.
    return null;
  }
}

// Written beside the target and renamed over it, so that no reader sees half a file. What was judged is the path as it
// was named: through a symbolic link it would be another file, perhaps one under dedicated control.
const replaceWhole = `
set -e
target=$1
real=$(realpath -m -- "$target")
if [ "$real" != "$(realpath -ms -- "$target")" ]; then
  echo "\${target#./} leads through a symbolic link, and nothing was written. Name the file itself: \${real#"$PWD"/}" >&2
  exit 1
fi
[ -d "$target" ] && exit 82
if [ -e "$target" ] && [ ! -f "$target" ]; then exit 83; fi
case $target in */*) folder=\${target%/*};; *) folder=.;; esac
mkdir -p -- "\${folder:-/}"
part=$(mktemp -- "\${folder:-/}/.part-XXXXXXXX")
trap 'rm -f -- "$part"' EXIT
cat > "$part"
if [ -e "$target" ]; then chmod --reference="$target" -- "$part"; else chmod "$(printf '%04o' $((0666 & ~0$(umask))))" -- "$part"; fi
mv -fT -- "$part" "$target"
trap - EXIT`;

/** Writes a whole file at once; null when done, else what went wrong. */
export async function writeText(context: ToolContext, path: string, text: string): Promise<string | null> {
  const run = await runProgram(context, script(replaceWhole, operand(path)), 0, Buffer.from(text));
  return run.end.exitCode === 0 ? null : explain(run, path);
}
