import { joinPath, plainPath } from '../paths/path-kind.ts';
import { hasUnknown, isKnown } from '../syntax/marks.ts';
import { gitCommandAt, settingOf } from '../wrappers/git.ts';

/** Settings of git that only change how things look or who signs. */
const harmlessSetting =
  /^(color|advice|column|log|status|user|author|committer|diff\.(renames|renamelimit|context|noprefix|algorithm|mnemonicprefix|wserrorhighlight)|core\.(quotepath|autocrlf|abbrev|ignorecase|longpaths|filemode|eol|safecrlf|precomposeunicode)|init\.defaultbranch|commit\.gpgsign|tag\.gpgsign|tag\.sort|branch\.sort|versionsort|pull\.(rebase|ff)|merge\.(conflictstyle|ff)|push\.default|fetch\.(prune|parallel)|rebase\.(autostash|autosquash)|gc\.auto|maintenance\.auto|pack\.threads|grep\.(linenumber|patterntype)|blame|format\.pretty|http\.(version|postbuffer|lowspeedlimit|lowspeedtime)|protocol\.version|safe\.directory|submodule\.recurse)([.=]|$)/i;

/** Whether `git -c` sets nothing that git would run; a pager or an editor is a program, whichever it is. */
export function isHarmlessSetting(setting: string): boolean {
  return harmlessSetting.test(setting);
}

/**
 * Git's options that only change how things look stand before the subcommand that a free command names.
 * @returns the words without them; the same array if there are none
 */
export function plainGitWords(words: readonly string[]): readonly string[] {
  if (!(words[1] ?? '').startsWith('-')) return words;
  const end = gitCommandAt(words);
  const kept = words.filter((word, index) => {
    if (index === 0 || index >= end) return true;
    if (/^(--no-pager|-P|--no-optional-locks|--literal-pathspecs|--no-replace-objects)$/.test(word))
      return false;
    const setting = settingOf(words[index - 1] ?? '', word);
    if (setting !== undefined) return !isHarmlessSetting(setting);
    return !(word === '-c' && isHarmlessSetting(words[index + 1] ?? ''));
  });
  return kept.length === words.length ? words : kept;
}

/** A folder below the working directory is the project's own, like the directory itself. */
export function isOwnFolder(path: string, cwd: string): boolean {
  const { base, climbs } = plainPath(path, cwd);
  // a pattern of visible names stays below
  return base === 'here' && climbs === 0 && (isKnown(path) || (!hasUnknown(path) && !/^\.|\/\./.test(path)));
}

/** More folders than this are no command of a person. */
const maxFolders = 4;

/**
 * Without `-C FOLDER` in front of the subcommand where the folder is the working copy's own: `git -C sub status` is
 * `cd sub && git status`, which is free as well. A repository below that is hostile is the same danger in both.
 * @returns the same array if there is none
 */
export function withoutOwnFolder(
  words: readonly string[],
  cwd: string,
  left = maxFolders,
): readonly string[] {
  const end = gitCommandAt(words);
  const at = words.findIndex((word, index) => word === '-C' && index + 1 < end);
  const folder = words[at + 1];
  if (left === 0 || at < 0 || folder === undefined || !isOwnFolder(folder, cwd)) return words;
  const rest = words.filter((_, index) => index !== at && index !== at + 1);
  return withoutOwnFolder(rest, joinPath(folder, cwd), left - 1);
}
