import { isKnown } from '../syntax/marks.ts';
import { operandsOf } from '../refused/call.ts';
import type { Call } from '../refused/call.ts';
import { ownWords } from '../refused/own-words.ts';
import { readEmbedded } from './embedded-code.ts';
import { readFind } from './find.ts';
import { readGit } from './git.ts';
import { readWrapper } from './grammar.ts';
import type { WrapperGrammar } from './grammar.ts';
import type { Inner } from './inner.ts';
import { readForfiles, readWindowsShell } from '../windows/windows-shells.ts';
import { readShell, shells } from './shells.ts';
import { wrapperTable } from './table.ts';
import { readParallel, readXargs } from './xargs.ts';

/**
 * The commands that a call runs in turn, by what its own arguments say.
 * @param text what the call reads from its standard input, where that is known
 */
export function unwrap(call: Call, text: string | undefined): Inner[] {
  if (shells.includes(call.name)) return present(readShell(call).inner);
  return [...unwrapWords(call, text), ...readEmbedded(call, text)];
}

function unwrapWords(call: Call, text: string | undefined): Inner[] {
  const special = Object.hasOwn(readers, call.name) ? readers[call.name] : undefined;
  if (special !== undefined) return special(call, text);
  const grammar = Object.hasOwn(wrapperTable, call.name) ? wrapperTable[call.name] : undefined;
  return grammar === undefined ? [] : readTabled(call, grammar);
}

/** Tools whose only work is to start a program of a package, so that its options are theirs. */
const packageRunners =
  /^(npx|npm|pnpm|yarn|bunx|bun|uv|uvx|poetry|pipenv|pdm|rye|hatch|conda|mamba|bundle|pixi|mise|(python|pypy)\d*(\.\d+)?)$/;

/** Whether what the call runs is a program of a package of this place. */
export function runsPackages(call: Call): boolean {
  return packageRunners.test(call.name);
}

/** `python -m MODULE …`: modules take the options of the programs that start them; their names say nothing else. */
export function startedModule(call: Call): Inner | undefined {
  if (!/^(python|pypy)\d*(\.\d+)?$/.test(call.name)) return undefined;
  const at = ownWords(call).words.findIndex((word, index) => index > 0 && /^-[a-zA-Z]*m$/.test(word));
  if (at < 0 || at + 1 >= call.words.length) return undefined;
  const run = { words: call.words.slice(at + 1), raws: call.raws.slice(at + 1) };
  return { from: at + 1, run, refusalsOnly: true };
}

/** Cmdlets and aliases that run a block of PowerShell. */
const blockReaders: readonly string[] = [
  'foreach-object',
  'foreach',
  '%',
  'where-object',
  'where',
  '?',
  'invoke-command',
  'icm',
  'start-job',
  'sajb',
  'start-threadjob',
  'measure-command',
];

const readers: Readonly<Record<string, (call: Call, text: string | undefined) => Inner[]>> = {
  find: readFind,
  gfind: readFind,
  fd: (call) => execOption(call, ['-x', '--exec', '-X', '--exec-batch']),
  fdfind: (call) => execOption(call, ['-x', '--exec', '-X', '--exec-batch']),
  go: (call) => execOption(ownWords(call), ['-exec', '-toolexec', '--exec', '--toolexec']),
  xargs: readXargs,
  gxargs: readXargs,
  parallel: readParallel,
  sem: (call) => readParallel(call, undefined),
  git: readGit,
  awk: readAwk,
  gawk: readAwk,
  mawk: readAwk,
  nawk: readAwk,
  tar: (call) => optionCode(call, tarCode),
  gtar: (call) => optionCode(call, tarCode),
  rsync: (call) => optionCode(call, ['-e', '--rsh', '--rsync-path']),
  split: (call) => optionCode(call, ['--filter']),
  gsplit: (call) => optionCode(call, ['--filter']),
  just: (call) => optionCode(call, ['--shell']),
  'start-stop-daemon': (call) => optionCode(call, ['-x', '--exec', '-a', '--startas']),
  trap: readTrap,
  alias: readAlias,
  '.': readDotted,
  ...Object.fromEntries(blockReaders.map((name) => [name, readBlock])),
  cmd: (call) => present(readWindowsShell(call)),
  forfiles: (call) => present(readForfiles(call)),
  powershell: (call) => present(readWindowsShell(call)),
  pwsh: (call) => present(readWindowsShell(call)),
  'start-process': readStartProcess,
  saps: readStartProcess,
  start: readStartProcess,
  complete: readCompletion,
  compgen: readCompletion,
  'remove-item': readRemoved,
  ri: readRemoved,
  mapfile: (call) => codeAfter(call, ['-C']),
  readarray: (call) => codeAfter(call, ['-C']),
};

function present(inner: Inner | undefined): Inner[] {
  return inner === undefined ? [] : [inner];
}

function readTabled(call: Call, grammar: WrapperGrammar): Inner[] {
  let begin = 1;
  if (grammar.after !== undefined) {
    const after = grammar.after;
    const at = call.words.findIndex((word, index) => index > 0 && after.includes(word));
    const direct = grammar.binaries?.includes(call.words[1] ?? '') === true;
    if (at < 0 && !direct) return [];
    begin = direct ? 1 : at + 1;
  }
  const { starts, codes } = readWrapper(grammar, call.words, begin);
  const tool = grammar.tool === true ? { refusalsOnly: true as const } : {};
  const input = grammar.ownInput === true ? {} : { keepsInput: true as const };
  const place = call.name === 'env' ? workingDirectory(call.words.slice(0, starts[0])) : {};
  const inners: Inner[] = codes.map(({ code, from }) => ({
    from,
    run: { code: call.name === 'env' ? [code, ...call.words.slice(from + 1)].join(' ') : code },
    ...tool,
    ...place,
  }));
  if (grammar.entrypoint === true)
    for (const { code, from } of codes) {
      const given = starts[0] === undefined ? [] : call.words.slice(starts[0]);
      const words = [...code.split(/\s+/), ...given];
      inners.push({ from, run: { words, raws: words }, ...input, ...tool });
    }
  if (grammar.each === true) {
    const from = starts[0] ?? call.words.length;
    return [...inners, ...call.words.slice(from).map((code) => ({ from, run: { code }, ...tool }))];
  }
  for (const [reading, from] of starts.entries())
    inners.push({
      from,
      run: runAt(call, grammar, from),
      ...input,
      ...place,
      ...(reading > 0 ? { refusalsOnly: true as const } : tool),
    });
  return inners;
}

function runAt(call: Call, grammar: WrapperGrammar, from: number): Inner['run'] {
  const words = call.words.slice(from);
  // a single word with blanks is a whole command line: `xterm -e 'ls -l'`, `yarn exec 'ls -l'`
  const line = grammar.tool === true && words.length === 1 && /\s/.test(words[0] ?? '');
  if (grammar.joins === true || line) return { code: words.join(' ') };
  // `npx rimraf@6`: the version is no part of the name
  if (grammar.tool === true) words[0] = (words[0] ?? '').replace(/(.)@[^/]*$/, '$1');
  return { words, raws: call.raws.slice(from) };
}

/** `env -C FOLDER`; what it runs may have a `-C` of its own. */
function workingDirectory(words: readonly string[]): { cwd?: string } {
  for (const [index, word] of words.entries()) {
    if (word === '-C' || word === '--chdir') return { cwd: words[index + 1] ?? '' };
    const attached = /^(?:-C|--chdir=)(.+)$/s.exec(word)?.[1];
    if (attached !== undefined) return { cwd: attached };
  }
  return {};
}

/** Everything after the option is a command, up to `;`. */
function execOption(call: Call, options: readonly string[]): Inner[] {
  const at = call.words.findIndex((word, index) => index > 0 && options.includes(word));
  if (at < 0 || at + 1 >= call.words.length) return [];
  const end = call.words.indexOf(';', at);
  const words = call.words.slice(at + 1, end < 0 ? undefined : end);
  const single = words[0] ?? '';
  if (single.includes(' ')) return [{ from: at + 1, run: { code: single } }];
  return [{ from: at + 1, run: { words, raws: call.raws.slice(at + 1, at + 1 + words.length) } }];
}

function codeAfter(call: Call, options: readonly string[]): Inner[] {
  const at = call.words.findIndex((word, index) => index > 0 && options.includes(word));
  const code = at < 0 ? undefined : call.words[at + 1];
  return code === undefined ? [] : [{ from: at + 1, run: { code } }];
}

/** Completions run a command (`-C`), a function (`-F`), and expand a list of words once more (`-W`). */
function readCompletion(call: Call): Inner[] {
  return call.words.flatMap((word, index): Inner[] => {
    const [, option, attached = ''] = /^-[a-z]*([CFW])(.*)$/s.exec(word) ?? [];
    if (index === 0 || option === undefined) return [];
    const value = attached === '' ? (call.words[index + 1] ?? '') : attached;
    const from = attached === '' ? index + 1 : index;
    if (option !== 'W') return [{ from, run: { code: value } }];
    if (isKnown(value) && !/[$`]/.test(value)) return [];
    return [{ from, run: { code: `: "${value.replace(/["'\\]/g, '')}"` } }];
  });
}

/** `{ … }` of PowerShell is words to bash. */
function readBlock(call: Call): Inner[] {
  const from = call.raws.findIndex((raw, index) => index > 0 && raw.startsWith('{'));
  if (from < 0) return [];
  const code = call.raws
    .slice(from)
    .join(' ')
    .replace(/^\{|\}[^}]*$/g, '')
    .trim();
  return code === '' ? [] : [{ from, run: { code, windows: true }, refusalsOnly: true }];
}

/** `. iex` runs a command in PowerShell where bash looks for a file. */
function readDotted(call: Call): Inner[] {
  if ((call.raws[1] ?? '').startsWith('{')) return readBlock(call);
  const first = call.words[1] ?? '';
  if (!/^[a-z-]+$/i.test(first)) return [];
  return [{ from: 1, run: { words: call.words.slice(1), raws: call.raws.slice(1) }, refusalsOnly: true }];
}

/** PowerShell deletes what comes through the pipe. */
function readRemoved(call: Call, text: string | undefined): Inner[] {
  if (text === undefined) return [];
  const found = text.split(/(?<!\\)\s+/).slice(0, 8);
  return [
    {
      from: 1,
      run: { words: [...call.words, ...found], raws: [...call.raws, ...found] },
      refusalsOnly: true,
    },
  ];
}

/** `trap CODE SIGNAL…`; one operand alone, `-` and the empty text only reset. */
function readTrap(call: Call): Inner[] {
  const operands = operandsOf(call);
  const code = operands[0];
  if (code === undefined || operands.length < 2 || code === '-' || code.trim() === '') return [];
  return [{ from: call.words.indexOf(code), run: { code } }];
}

function readAlias(call: Call): Inner[] {
  return call.words.slice(1).flatMap((word, index) => {
    const code = /^[^=]+=(.+)$/s.exec(word)?.[1];
    return code === undefined ? [] : [{ from: index + 1, run: { code }, refusalsOnly: true as const }];
  });
}

/** `Start-Process PROGRAM -ArgumentList …`; a refused program stays one. */
function readStartProcess(call: Call): Inner[] {
  // cmd's `start` takes a title first, most often an empty one
  const from = call.words.findIndex((word, index) => index > 0 && word !== '' && !/^[-/]/.test(word));
  if (from < 0) return [];
  const rest = (items: readonly string[]) =>
    items
      .slice(from)
      .filter((item) => !/^-(argumentlist|args|wait|nonewwindow|passthru|windowstyle)$/i.test(item));
  const words = rest(call.words);
  return [{ from, run: { words, raws: rest(call.raws).slice(0, words.length) }, refusalsOnly: true }];
}

const tarCode: readonly string[] = [
  '-I',
  '--use-compress-program',
  '--to-command',
  '--checkpoint-action',
  '--rsh-command',
];

/** Values of options that are given to a shell; that they ask at all is said where options are. */
function optionCode(call: Call, options: readonly string[]): Inner[] {
  return call.words.flatMap((word, index) => {
    const option = options.find(
      (one) => word === one || (one.startsWith('--') && word.startsWith(`${one}=`)),
    );
    if (option === undefined || index === 0) return [];
    const value = word === option ? (call.words[index + 1] ?? '') : word.slice(option.length + 1);
    return [{ from: index, run: { code: value.replace(/^exec=/, '') }, refusalsOnly: true as const }];
  });
}

const awkCode =
  /\bsystem\s*\(\s*"((?:\\.|[^"\\])*)"|\|&?\s*"((?:\\.|[^"\\])*)"|"((?:\\.|[^"\\])*)"(?=\s*\|)/g;

/** What an awk program gives to a shell, where it stands in the program as a text. */
function readAwk(call: Call): Inner[] {
  const program = call.words.join('\n').slice(0, 4000);
  const runs = Array.from(program.matchAll(awkVariable), (found) => found[1] ?? found[2] ?? '');
  const held = Array.from(program.matchAll(/\b([A-Za-z_]\w*)\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^"\n]*))/g))
    .filter(([, name]) => runs.includes(name ?? ''))
    .map(([, , text, given]): Inner => ({ from: 1, run: { code: text ?? given ?? '' }, refusalsOnly: true }));
  return [...held, ...awkTexts(call)];
}

/** A variable that is given to a shell. */
const awkVariable = /\bsystem\s*\(\s*([A-Za-z_]\w*)\s*\)|\b([A-Za-z_]\w*)\s*\|&?\s*getline/g;

function awkTexts(call: Call): Inner[] {
  return call.words.flatMap((word, index) =>
    index === 0 || word.length > 4000
      ? []
      : Array.from(word.matchAll(awkCode), (found) => ({
          from: index,
          run: { code: found[1] ?? found[2] ?? found[3] ?? '' },
          refusalsOnly: true as const,
        })),
  );
}
