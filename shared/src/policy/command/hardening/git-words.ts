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
