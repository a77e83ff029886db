import { flaggedPattern } from '../policy/flagged-path.ts';
import { dedicatedFiles } from '../policy/flagged-paths.ts';
import type { FileFlag } from './diff.ts';

type Kind = keyof typeof dedicatedFiles;

/** Characters that HFS+ does not see in a name. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Names that the table of patterns cannot tell: a folder that some file system takes for `.git` (case, the short name of
 * FAT, trailing dots, blanks or a stream), and Bazel's files on a file system that ignores case, which a diff, unlike a
 * command, cannot confuse with the folders that builds write into.
 */
const alsoNamed: Partial<Readonly<Record<Kind, (names: readonly string[]) => boolean>>> = {
  nested_git: (names) =>
    names.some((name) => /^(?:\.git|git~\d+)[. ]*(?::.*)?$/i.test(name.replaceAll(ignoredByHfs, ''))),
  build_script: (names) => /^(?:BUILD|WORKSPACE)(?:\.bazel|\.bzlmod)?$/i.test(names.at(-1) ?? ''),
};

/**
 * Why the paths of a changed file put it under dedicated control. A renamed file counts under all of its names. What only
 * the session's policy names is marked as the policy's.
 * @param flaggedPaths the policy's own patterns
 */
export function fileFlagsOf(
  paths: readonly (string | undefined)[],
  flaggedPaths: readonly string[] = [],
): FileFlag[] {
  const named = paths.filter((path) => path !== undefined);
  const flags = (Object.keys(dedicatedFiles) as Kind[]).filter((kind) =>
    named.some((path) => isOfKind(kind, path)),
  );
  if (flags.length > 0) return flags;
  return named.some((path) => flaggedPattern(flaggedPaths, path) !== undefined) ? ['policy'] : [];
}

function isOfKind(kind: Kind, path: string): boolean {
  return (
    flaggedPattern(dedicatedFiles[kind], path) !== undefined ||
    alsoNamed[kind]?.(path.split(/[/\\]/)) === true
  );
}
