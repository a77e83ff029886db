import type { DiffFile } from '@lemniscate/shared/repository/diff.ts';

const changes: Readonly<Record<string, DiffFile['change']>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

interface Counts {
  readonly insertions: number | null;
  readonly deletions: number | null;
}

const count = (text: string): number | null => (text === '-' ? null : Number(text));

/** A file that becomes a program or a link shows it in its modes alone. */
function modesOf(head: string): Pick<DiffFile, 'modes'> {
  const [, before, after] = /^:([0-7]{6}) ([0-7]{6}) /.exec(head) ?? [];
  return before === undefined || after === undefined || before === after ? {} : { modes: { before, after } };
}

/**
 * Reads `git diff --raw --numstat -z`: raw records begin with a colon, number records follow. Flags stay empty: the
 * dispatcher derives them from the paths, since a server's word on what needs care is a claim.
 * @throws Error when git's output has another shape
 */
export function parseDiffSummary(output: Buffer): DiffFile[] {
  const fields = output.toString('utf8').split('\0');
  const files: Pick<DiffFile, 'path' | 'previousPath' | 'change' | 'modes'>[] = [];
  const counts = new Map<string, Counts>();
  let index = 0;
  const next = (): string => {
    const field = fields[index];
    index += 1;
    if (field === undefined) throw new Error('git ended its list of changes in the middle of a record');
    return field;
  };
  while (index < fields.length && fields[index] !== '') {
    const head = next();
    if (head.startsWith(':')) {
      const status = head.split(' ')[4]?.charAt(0) ?? '';
      const change = changes[status];
      if (change === undefined)
        throw new Error(`git named a change that we do not know: ${JSON.stringify(head)}`);
      const path = next();
      const modes = modesOf(head);
      if (change === 'renamed' || change === 'copied')
        files.push({ path: next(), previousPath: path, change, ...modes });
      else files.push({ path, change, ...modes });
      continue;
    }
    const match = /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(head);
    if (match === null) throw new Error(`git wrote a count that we cannot read: ${JSON.stringify(head)}`);
    let path = match[3] ?? '';
    if (path === '') {
      next();
      path = next();
    }
    counts.set(path, { insertions: count(match[1] ?? '-'), deletions: count(match[2] ?? '-') });
  }
  return files.map((file) => ({
    ...file,
    insertions: counts.get(file.path)?.insertions ?? null,
    deletions: counts.get(file.path)?.deletions ?? null,
    flags: [],
  }));
}
