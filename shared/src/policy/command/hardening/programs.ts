import { hasUnknown, isKnown, mark } from '../syntax/marks.ts';
import type { Call } from '../refused/call.ts';
import { isTemporary, pathKind, plainPath } from '../paths/path-kind.ts';
import { deletesUnknown } from '../refused/destruction.ts';
import { chmodMode, modeEffect } from '../refused/permissions.ts';
import { gitCommandAt, settingOf } from '../wrappers/git.ts';
import { isHarmlessSetting } from './git-words.ts';
import { readEmbedded } from '../wrappers/embedded-code.ts';
import { sedEffects } from './sed-script.ts';

/** A reason to ask although the command is free. */
export interface Doubt {
  /** Place of the word that raises it; a free command that names this word lifts the doubt. */
  readonly index: number;
  readonly reason: string;
}

type Doubts = (call: Call) => Doubt | undefined;

const at = (index: number, reason: string): Doubt | undefined => (index > 0 ? { index, reason } : undefined);

/** sed's scripts: `-e`, or the first operand. A file of commands (`-f`) is code that nobody has read. */
const sed: Doubts = (call) => {
  const words = call.words;
  const scripts = words.flatMap((word, index) =>
    /^(-[a-zA-Z]*e|--expression)$/.test(words[index - 1] ?? '')
      ? [index]
      : word.startsWith('--expression=')
        ? [index]
        : [],
  );
  const file = words.findIndex((word) => /^(-[a-zA-Z]*f|--file.*)$/.test(word));
  if (file > 0) return at(file, 'sed reads its commands from a file');
  const operand = words.findIndex((word, index) => index > 0 && !word.startsWith('-'));
  const places = scripts.length > 0 ? scripts : operand > 0 ? [operand] : [];
  for (const index of places) {
    const script = (words[index] ?? '').replace(/^--expression=/, '');
    if (script === mark.unknown) return at(index, 'the sed script is known only when it runs');
    const effects = sedEffects(script);
    if (effects === undefined && !hasUnknown(script)) return at(index, 'the sed script is not understood');
    const effect = effects?.[0];
    if (effect !== undefined) return at(index, `the sed script ${effect}`);
  }
  return undefined;
};

/** awk's ways out of the stream: POSIX awk, "Output Statements" and "system()". */
const awkRuns =
  /\bsystem\s*\(|"\s*\|&?\s*(getline|&)|\|&?\s*getline|\bprintf?\b[^;}\n]*[^|]\|(?!\|)|(^|[;{}\s(=,])@[A-Za-z_]/;
const awkWrites = /\bprintf?\b[^;}\n]*>/;

/** The patterns above look ahead as far as a statement goes; longer programs ask. */
const maxProgram = 4000;

function withoutGroups(program: string): string {
  let text = program;
  for (let depth = 0; depth < 8; depth += 1) {
    const next = text.replace(/\([^()]*\)/g, ' ');
    if (next === text) break;
    text = next;
  }
  return text;
}

const awk: Doubts = (call) => {
  for (const [index, word] of call.words.entries()) {
    if (index === 0) continue;
    if (word.length > maxProgram) return at(index, 'the awk program is too long to be read');
    if (/^(-|\/dev\/stdin)$/.test(word) && /^(-f|--file)$/.test(call.words[index - 1] ?? ''))
      return at(index, 'awk reads its program from the standard input');
    const program = word
      .replace(/>>?\s*"\/dev\/(null|stdout|stderr)"/g, '')
      .replace(/"(?:\\.|[^"\\])*"/gs, '""');
    // inside parentheses `>` compares
    const statements = withoutGroups(program);
    if (word === mark.unknown && !(call.words[index - 1] ?? '').startsWith('-') && isProgram(call, index))
      return at(index, 'the awk program is known only when it runs');
    if (awkRuns.test(program)) return at(index, 'the awk program runs code');
    if (awkWrites.test(statements) && !word.startsWith('-F'))
      return at(index, 'the awk program writes a file');
    if (/^(-i|--include|-l|--load|-E|--exec|-f|--file)/.test(word)) return at(index, 'awk loads a file');
    if (/^(-[opd]|--pretty-print|--profile|--dump-variables)/.test(word) && call.name === 'gawk')
      return at(index, 'awk writes a file');
  }
  return undefined;
};

/** Whether no operand stands before this one: the first is the program. */
function isProgram(call: Call, index: number): boolean {
  return call.words
    .slice(1, index)
    .every((word, place) => word.startsWith('-') || /^-[vF]$/.test(call.words[place] ?? ''));
}

const gitOptions: readonly {
  readonly pattern: RegExp;
  readonly commands?: RegExp;
  readonly reason: string;
}[] = [
  {
    pattern: /^--output(=|$)/,
    commands: /^(diff|log|show|format-patch|archive|diff-tree)$/,
    reason: 'git writes a file',
  },
  { pattern: /^-o$/, commands: /^(archive|bundle)$/, reason: 'git writes a file' },
  { pattern: /^create$/, commands: /^bundle$/, reason: 'git writes a file' },
  { pattern: /^(--tool(=|$)|-t)/, commands: /^mergetool$/, reason: 'git runs code' },
  {
    pattern: /^(-x|--exec|--extcmd)/,
    commands: /^(rebase|difftool|archive|ls-remote|push)$/,
    reason: 'git runs code',
  },
  { pattern: /^(-O|--open-files-in-pager)/, commands: /^grep$/, reason: 'git runs code' },
  {
    pattern: /^(--upload-pack|-u$)/,
    commands: /^(clone|fetch|pull|ls-remote|fetch-pack)$/,
    reason: 'git runs code',
  },
  { pattern: /^--receive-pack/, commands: /^(push|send-pack)$/, reason: 'git runs code' },
  {
    pattern: /^(--template|--config|-c$)/,
    commands: /^(clone|init)$/,
    reason: 'git reads settings that it may run',
  },
  { pattern: /^--ext-diff$/, reason: 'git runs code' },
  { pattern: /^(foreach)$/, commands: /^submodule$/, reason: 'git runs code' },
  { pattern: /^(run)$/, commands: /^(bisect|hook)$/, reason: 'git runs code' },
  { pattern: /^--.*-filter/, commands: /^filter-branch$/, reason: 'git runs code' },
  { pattern: /^ext::/, reason: 'git runs code' },
  {
    pattern:
      /^(alias\.|core\.(sshcommand|pager|editor|fsmonitor|hookspath|askpass|gitproxy|attributesfile)|diff\..*|.*\.(cmd|textconv|clean|smudge|process|program|command|helper|driver)$|sequence\.editor|include|includeif|init\.templatedir|uploadpack)/i,
    commands: /^config$/,
    reason: 'git settings that git runs',
  },
];

/** A folder below the working directory is the project's own, like the directory itself. */
function isInside(path: string, cwd: string): boolean {
  const { base, climbs } = plainPath(path, cwd);
  // a pattern of visible names stays below
  return base === 'here' && climbs === 0 && (isKnown(path) || (!hasUnknown(path) && !/^\.|\/\./.test(path)));
}

const git: Doubts = (call) => {
  const place = gitCommandAt(call.words);
  for (let index = 1; index < place; index += 1) {
    const word = call.words[index] ?? '';
    const setting = settingOf(call.words[index - 1] ?? '', word);
    if (setting !== undefined && !isHarmlessSetting(setting))
      return at(index, 'git settings that git may run');
    const inside = word === '-C' && isInside(call.words[index + 1] ?? '', call.cwd);
    if (!inside && /^(-C|--exec-path|--git-dir|--work-tree|--namespace)/.test(word) && word !== '--exec-path')
      return at(index, 'git works in another place, whose settings it may run');
  }
  const command = call.words[place] ?? '';
  if (command === 'format-patch' && !call.words.includes('--stdout'))
    return at(place + 1, 'git writes files');
  for (const [index, word] of call.words.entries()) {
    if (index <= place) continue;
    const option = gitOptions.find(
      (entry) => entry.pattern.test(word) && (entry.commands?.test(command) ?? true),
    );
    // `git config NAME` alone reads
    const reads = command === 'config' && index === call.words.length - 1;
    if (option !== undefined && !reads) return at(index, option.reason);
  }
  return undefined;
};

/** `make SHELL=…` and the like replace what runs the recipes. */
const make: Doubts = (call) => {
  const index = call.words.findIndex(
    (word, place) => place > 0 && /^(\.?SHELL|\.SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES)[:+?]*=/.test(word),
  );
  if (index > 0) return at(index, 'replaces the shell of make');
  const input = call.words.findIndex(
    (word, place) =>
      /^(-|\/dev\/stdin)$/.test(word) && /^(-f|--file|--makefile)$/.test(call.words[place - 1] ?? ''),
  );
  return at(input, 'make reads its rules from the standard input');
};

/** An editor or pager that is told to run something when it opens. */
const opensWithCode: Doubts = (call) =>
  at(
    call.words.findIndex((word, place) => place > 0 && /^\+.*[!|]/.test(word)),
    'runs code when it opens',
  );

const socat: Doubts = (call) =>
  at(
    call.words.findIndex((word) => /(^|,)(exec|system|shell):/i.test(word)),
    'runs code',
  );

const npmSettings: Doubts = (call) => {
  if (call.words[1] !== 'config' && call.words[1] !== 'set') return undefined;
  return at(
    call.words.findIndex((word) =>
      /^(script-shell|shell|node-options|prefix|globalconfig|userconfig)(=|$)/.test(word),
    ),
    'npm settings that npm runs',
  );
};

/** A place for everybody's files is no place of the system's, although it belongs to it. */
function isInSystem(path: string, cwd: string): boolean {
  return !isTemporary(path, cwd) && ['system', 'systemFile', 'root'].includes(pathKind(path, cwd));
}

/** `tar -C`, `unzip -d`, `make DESTDIR=` unpack into a directory. */
const unpacksInto =
  (option: RegExp): Doubts =>
  (call) => {
    const index = call.words.findIndex((word, place) => {
      const attached = /^(--?[\w-]+)=(.*)$/s.exec(word);
      const [name, path] =
        attached === null ? [call.words[place - 1] ?? '', word] : [attached[1] ?? '', attached[2] ?? ''];
      return option.test(name) && isInSystem(path, call.cwd);
    });
    const extracts =
      call.name === 'unzip' ||
      call.words.slice(1).some((word) => /^-?[a-zA-Z]*x|^--(extract|get)$/.test(word));
    return extracts ? at(index, 'writes into the system tree') : undefined;
  };

const writesSystem: Doubts = (call) => {
  const index = call.words.findLastIndex((word, place) => place > 0 && !word.startsWith('-'));
  return index > 0 && isInSystem((call.words[index] ?? '').replace(/^of=/, ''), call.cwd)
    ? at(index, 'writes into the system tree')
    : undefined;
};

/** `tee` is a redirection that is spelled as a command; only a free command that names the file lifts that. */
const tee: Doubts = (call) =>
  at(
    call.words.findIndex(
      (word, place) =>
        place > 0 && word !== '' && !word.startsWith('-') && pathKind(word, call.cwd) !== 'sink',
    ),
    'writes a file',
  );

const ddUnknown: Doubts = (call) => {
  const index = call.words.findIndex((word) => word.startsWith('of=') && hasUnknown(word));
  return at(index, 'what is written is known only when it runs');
};

const rm: Doubts = (call) =>
  deletesUnknown(call)
    ? { index: call.words.length, reason: 'what is deleted is known only when it runs' }
    : undefined;

const chmod: Doubts = (call) => {
  const mode = chmodMode(call);
  return mode !== undefined && modeEffect(mode) === 'unknown'
    ? at(call.words.indexOf(mode), 'the mode is known only when it runs')
    : undefined;
};

const chown: Doubts = (call) => {
  const index = call.words.findIndex((word, place) => place > 0 && !word.startsWith('-'));
  return hasUnknown(call.words[index] ?? '') ? at(index, 'the owner is known only when it runs') : undefined;
};

const umask: Doubts = (call) => {
  const index = call.words.findIndex(
    (word, place) => place > 0 && (/^0*[0-7]?[0-7]?[0145]$/.test(word) || /[oa][+=].*w/.test(word)),
  );
  return at(index, 'opens the permissions of every new file');
};

/** `\\!`, `.shell`, `system`: a client's own way to a shell. */
const ownEscapes: Doubts = (call) => at(readEmbedded(call)[0]?.from ?? 0, 'runs code');

const always =
  (reason: string): Doubts =>
  (call) => ({ index: call.words.length, reason });

/** `alias` alone, or with a name, shows. */
const alias: Doubts = (call) =>
  call.words.some((word, index) => index > 0 && word.includes('='))
    ? { index: call.words.length, reason: 'an alias gives a command another name' }
    : undefined;

const readsItself = /^(\/dev\/(stdin|fd\/\d+|tcp\/.*|udp\/.*)|-|\/proc\/self\/fd\/\d+)$/;

const source: Doubts = (call) => {
  const index = call.words.findIndex(
    (word, place) => place > 0 && (readsItself.test(word) || hasUnknown(word)),
  );
  return at(index, 'runs a text that is known only when it runs');
};

const shopt: Doubts = (call) => at(call.words.indexOf('expand_aliases'), 'lets aliases replace commands');

const set: Doubts = (call) => at(call.words.indexOf('-k'), 'makes every NAME=value an environment variable');

/** The second operand is what they write. @param valued options whose value is the next word */
const writesSecond =
  (valued: RegExp): Doubts =>
  (call) => {
    const operands = call.words.flatMap((word, index) =>
      index > 0 && (word === '-' || !word.startsWith('-')) && !valued.test(call.words[index - 1] ?? '')
        ? [index]
        : [],
    );
    const second = operands[1] ?? 0;
    const sink = pathKind(call.words[second] ?? '', call.cwd) === 'sink' || call.words[second] === '-';
    return sink ? undefined : at(second, 'writes a file');
  };

/** Doubts by program name. */
const table: Readonly<Record<string, readonly Doubts[]>> = {
  sed: [sed],
  gsed: [sed],
  awk: [awk],
  gawk: [awk],
  mawk: [awk],
  nawk: [awk],
  git: [git],
  make: [make],
  gmake: [make],
  less: [opensWithCode],
  more: [opensWithCode],
  vim: [opensWithCode],
  vi: [opensWithCode],
  nvim: [opensWithCode],
  view: [opensWithCode],
  socat: [socat],
  npm: [npmSettings],
  pnpm: [npmSettings],
  tar: [unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  gtar: [unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  bsdtar: [unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  unzip: [unpacksInto(/^-d$/)],
  cp: [writesSystem],
  mv: [writesSystem],
  ln: [writesSystem],
  install: [writesSystem],
  tee: [tee],
  dd: [writesSystem, ddUnknown],
  touch: [writesSystem],
  rsync: [writesSystem],
  rm: [rm],
  grm: [rm],
  rimraf: [rm],
  chmod: [chmod],
  chown: [chown],
  chgrp: [chown],
  umask: [umask],
  source: [source],
  '.': [source],
  alias: [alias],
  shopt: [shopt],
  set: [set],
  uniq: [writesSecond(/^(-[a-zA-Z]*[fsw]|--skip-fields|--skip-chars|--check-chars)$/)],
  xxd: [writesSecond(/^-(c|cols|g|groupsize|l|len|n|name|o|R|s|seek)$/)],
  split: [always('writes files')],
  gsplit: [always('writes files')],
  csplit: [always('writes files')],
  psql: [ownEscapes],
  mysql: [ownEscapes],
  mariadb: [ownEscapes],
  sqlite3: [ownEscapes],
  ed: [ownEscapes],
  ftp: [ownEscapes],
  nsenter: [always('enters namespaces of another process')],
};

/** Reasons to ask that need more than an option table. */
export function programDoubts(call: Call): Doubt[] {
  const checks = Object.hasOwn(table, call.name) ? (table[call.name] ?? []) : [];
  return checks.flatMap((check) => check(call) ?? []);
}
