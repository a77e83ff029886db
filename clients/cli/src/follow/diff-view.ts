import type { Writable } from 'node:stream';
import type { DiffFile } from '@lemniscate/shared/repository/diff.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import pc from 'picocolors';

/** The patch for a person's eyes: coloured, and with every deceptive character made visible. */
export function showPatch(out: Writable, patch: string, colour: boolean): void {
  const paint = pc.createColors(colour);
  let binary = false;
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const text = makeVisible(line);
    if (line.startsWith('diff --git ')) binary = false;
    if (binary) continue;
    if (line === 'GIT binary patch') {
      // its text says nothing to a person; `--raw` has it
      binary = true;
      out.write(`${paint.bold('binary content')}\n`);
      continue;
    }
    if (
      /^(diff --git|index |--- |\+\+\+ |new (file )?mode|old mode|deleted file|(rename|copy) |similarity )/.test(
        line,
      )
    )
      out.write(paint.bold(text));
    else if (line.startsWith('@@')) out.write(paint.cyan(text));
    else if (line.startsWith('+')) out.write(paint.green(text));
    else if (line.startsWith('-')) out.write(paint.red(text));
    else out.write(text);
    out.write('\n');
  }
}

/** The list of files with their counts; flagged ones say why they need care. */
export function showDiffFiles(out: Writable, files: readonly DiffFile[], colour: boolean): void {
  const paint = pc.createColors(colour);
  for (const file of files) {
    const counts = file.insertions === null ? 'binary' : `+${file.insertions} −${file.deletions ?? 0}`;
    const from = file.previousPath === undefined ? '' : ` from ${makeVisibleLine(file.previousPath)}`;
    const mode = file.modes === undefined ? '' : modeNote(file.modes);
    const flags = file.flags.length === 0 ? '' : paint.yellow(`  ⚑ ${file.flags.join(', ')}`);
    out.write(
      `  ${file.change} ${makeVisibleLine(file.path)}${from} ${paint.dim(counts)}${paint.yellow(mode)}${flags}\n`,
    );
  }
}

const programMode = '100755';
const linkMode = '120000';
const absent = '000000';

/** What the modes say that the lines do not: a program, a link. */
function modeNote({ before, after }: NonNullable<DiffFile['modes']>): string {
  if (after === linkMode) return '  symbolic link';
  if (after === '160000') return '  nested repository';
  if (after === programMode) return before === absent ? '  executable' : '  becomes executable';
  if (before === programMode && after !== absent) return '  no longer executable';
  return before === absent || after === absent ? '' : `  mode ${before} → ${after}`;
}
