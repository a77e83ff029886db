import { joinPath } from '../paths/path-kind.ts';
import type { Call } from '../refused/call.ts';
import type { Inner } from './inner.ts';

/** Options of git's commands whose value is shell code. */
const codeOptions: Readonly<Record<string, readonly string[]>> = {
  rebase: ['-x', '--exec'],
  difftool: ['-x', '--extcmd'],
  'filter-branch': [
    '--env-filter',
    '--tree-filter',
    '--index-filter',
    '--parent-filter',
    '--msg-filter',
    '--commit-filter',
    '--tag-name-filter',
    '--setup',
  ],
  grep: ['-O', '--open-files-in-pager'],
  clone: ['-u', '--upload-pack'],
  fetch: ['--upload-pack'],
  'ls-remote': ['--upload-pack', '--exec'],
  push: ['--receive-pack', '--exec'],
};

/** What git is told to run: configuration that is code, options that are code, `bisect run`, `submodule foreach`. */
export function readGit(call: Call): Inner[] {
  const inners: Inner[] = [];
  const command = gitCommandAt(call.words);
  const cloning = call.words[command] === 'clone';
  const name = call.words[command] ?? '';
  const options = Object.hasOwn(codeOptions, name) ? (codeOptions[name] ?? []) : [];
  for (const [index, word] of call.words.entries()) {
    if (index === 0) continue;
    const before = call.words[index - 1] ?? '';
    const setting = index < command || cloning ? settingOf(before, word) : undefined;
    if (setting !== undefined) inners.push(asCode(setting.slice(setting.indexOf('=') + 1), index));
    const long = options.find((option) => option.startsWith('--') && word.startsWith(`${option}=`));
    if (long !== undefined) inners.push(asCode(word.slice(long.length + 1), index));
    const short = options.find((option) => option.length === 2 && word.startsWith(option) && word !== option);
    if (short !== undefined) inners.push(asCode(word.slice(2), index));
    if (options.includes(before)) inners.push(asCode(word, index));
    if (word.startsWith('ext::')) inners.push(asCode(word.slice('ext::'.length), index));
    if (word === 'foreach' && name === 'submodule')
      inners.push(
        asCode(
          call.words
            .slice(index + 1)
            .filter((other) => other !== '--recursive' && other !== '--quiet')
            .join(' '),
          index + 1,
        ),
      );
    if (word === 'run' && before === 'bisect')
      inners.push({
        from: index + 1,
        run: { words: call.words.slice(index + 1), raws: call.raws.slice(index + 1) },
        refusalsOnly: true,
      });
    if (before.startsWith('alias.') && name === 'config') inners.push(asCode(word, index));
  }
  return inners;
}

/** The `name=value` that a word sets for this one run. */
export function settingOf(before: string, word: string): string | undefined {
  if (before === '-c' || before === '--config' || before === '--config-env') return word;
  return /^--config(?:-env)?=(.*)$/s.exec(word)?.[1] ?? /^-c(.+=.*)$/s.exec(word)?.[1];
}

/** Where git works: its `-C`s and `--work-tree`, one in the other, from the working directory. */
export function folderOf(words: readonly string[], cwd: string): string {
  const folders = words.flatMap((word, index) => {
    const tree = /^--work-tree=(.*)$/s.exec(word)?.[1];
    return tree ?? (/^(-C|--work-tree)$/.test(words[index - 1] ?? '') ? word : []);
  });
  if (folders.length === 0) return cwd;
  const absolute = folders.findLastIndex((folder) => /^[/\uE000\uE003]/.test(folder));
  // joined once: one by one would be quadratic
  return joinPath(folders.slice(Math.max(0, absolute)).join('/'), cwd);
}

/** Place of git's subcommand among the words; the number of words when there is none. */
export function gitCommandAt(words: readonly string[]): number {
  let index = 1;
  for (; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (!word.startsWith('-')) break;
    if (/^(-c|-C|--git-dir|--work-tree|--namespace|--config-env|--super-prefix|--exec-path)$/.test(word))
      index += 1;
  }
  return Math.min(index, words.length);
}

/** An alias or helper that begins with `!` is a shell's; the others are read as commands too, which only hardens. */
function asCode(value: string, from: number): Inner {
  return { from, run: { code: value.replace(/^!/, '') }, refusalsOnly: true };
}
