import type { Writable } from 'node:stream';
import type { DiffFile } from '@lemniscate/shared/repository/diff.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import pc from 'picocolors';

/** The patch for a person's eyes: coloured, and with every deceptive character made visible. */
export function showPatch(out: Writable, patch: string, colour: boolean): void {
  const paint = pc.createColors(colour);
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const text = makeVisible(line);
    if (/^(diff --git|index |--- |\+\+\+ |new file|deleted file|rename |similarity )/.test(line))
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
    const flags = file.flags.length === 0 ? '' : paint.yellow(`  ⚑ ${file.flags.join(', ')}`);
    out.write(`  ${file.change} ${makeVisibleLine(file.path)}${from} ${paint.dim(counts)}${flags}\n`);
  }
}
