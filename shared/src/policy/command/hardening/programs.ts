import { hasUnknown } from '../syntax/marks.ts';
import type { Call } from '../refused/call.ts';
import { isTemporary, pathKind } from '../paths/path-kind.ts';
import { deletesUnknown } from '../refused/destruction.ts';
import { chmodMode, modeEffect } from '../refused/permissions.ts';
import { gitCommandAt, settingOf } from '../wrappers/git.ts';
import { isHarmlessSetting, isOwnFolder } from './git-words.ts';
import { readEmbedded } from '../wrappers/embedded-code.ts';
import { clientDoubts } from './client-commands.ts';
import { doubtAt } from './doubt.ts';
import { makeVariables } from './make-variables.ts';
import { placeDoubts } from './places.ts';
import { awk, sed } from './stream-editors.ts';
import { variableDoubt } from './variables.ts';
import type { Doubt, Doubts } from './doubt.ts';

const gitOptions: readonly {
  readonly pattern: RegExp;
  readonly commands?: RegExp;
  readonly reason: string;
}[] = [
  {
    pattern: /^--output(=|$)/,
    commands:
      /^(diff(-\w+)?|log|show|format-patch|archive|stash|range-diff|shortlog|whatchanged|rev-list|reflog)$/,
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
    pattern: /^--upload-pack/,
    commands: /^(clone|fetch|pull|ls-remote|fetch-pack)$/,
    reason: 'git runs code',
  },
  { pattern: /^-u/, commands: /^clone$/, reason: 'git runs code' },
  {
    pattern: /^--(smtp-server|sendmail-cmd|to-cmd|cc-cmd|header-cmd)/,
    commands: /^send-email$/,
    reason: 'git runs code',
  },
  { pattern: /^--receive-pack/, commands: /^(push|send-pack)$/, reason: 'git runs code' },
  {
    pattern: /^(--template|--config|-c$)/,
    commands: /^(clone|init)$/,
    reason: 'git reads settings that it may run',
  },
  { pattern: /^--(ext-diff|textconv)$/, reason: 'git runs code' },
  { pattern: /^(foreach)$/, commands: /^submodule$/, reason: 'git runs code' },
  { pattern: /^(run)$/, commands: /^(bisect|hook)$/, reason: 'git runs code' },
  { pattern: /^--.*-filter/, commands: /^filter-branch$/, reason: 'git runs code' },
  { pattern: /^ext::/, reason: 'git runs code' },
  {
    pattern:
      /^(alias\.|core\.(worktree|sshcommand|pager|editor|fsmonitor|hookspath|askpass|gitproxy|attributesfile)|diff\..*|.*\.(cmd|textconv|clean|smudge|process|program|command|helper|driver)$|sequence\.editor|include|includeif|init\.templatedir|uploadpack)/i,
    commands: /^config$/,
    reason: 'git settings that git runs',
  },
];

/** Long options of git that may be cut short; `--text` is one of its own. */
const cutShort =
  '--output --exec --extcmd --ext-diff --textconv --upload-pack --receive-pack --open-files-in-pager --template --config'.split(
    ' ',
  );

function wholeOption(word: string): string {
  const [name = ''] = word.split('=', 1);
  if (!/^--[a-z-]{3,}$/.test(name) || name === '--text' || cutShort.includes(name)) return word;
  const option = cutShort.find((one) => one.startsWith(name));
  return option === undefined ? word : option + word.slice(name.length);
}

const git: Doubts = (call) => {
  const place = gitCommandAt(call.words);
  for (let index = 1; index < place; index += 1) {
    const word = call.words[index] ?? '';
    const setting = settingOf(call.words[index - 1] ?? '', word);
    if (setting !== undefined && !isHarmlessSetting(setting))
      return doubtAt(index, 'git settings that git may run');
    const inside = word === '-C' && isOwnFolder(call.words[index + 1] ?? '', call.cwd);
    if (!inside && /^(-C|--exec-path|--git-dir|--work-tree|--namespace)/.test(word) && word !== '--exec-path')
      return doubtAt(index, 'git works in another place, whose settings it may run');
  }
  const command = call.words[place] ?? '';
  if (command === 'format-patch' && !call.words.includes('--stdout'))
    return doubtAt(place + 1, 'git writes files');
  for (const [index, word] of call.words.entries()) {
    if (index <= place) continue;
    if (word === '--') break;
    const whole = wholeOption(word);
    const option = gitOptions.find(
      (entry) => entry.pattern.test(whole) && (entry.commands?.test(command) ?? true),
    );
    // `git config NAME` alone reads
    const reads = command === 'config' && index === call.words.length - 1;
    if (option !== undefined && !reads) return doubtAt(index, option.reason);
  }
  return undefined;
};

const makeInput: Doubts = (call) =>
  doubtAt(
    call.words.findIndex(
      (word, place) =>
        /^(-|\/dev\/stdin)$/.test(word) && /^(-f|--file|--makefile)$/.test(call.words[place - 1] ?? ''),
    ),
    'make reads its rules from the standard input',
  );

/** Goals of Maven plugins that run what their settings name, and settings that name a program. */
const mvn: Doubts = (call) =>
  doubtAt(
    call.words.findIndex(
      (word) =>
        /(^|:)(exec|exec-maven-plugin|antrun|maven-antrun-plugin|groovy|gmavenplus|gmavenplus-plugin)(:[\w.-]+)?:[\w-]+(@\w+)?$/.test(
          word,
        ) || /^-D(exec\.\w+|jvm|maven\.ext\.class\.path|surefire\.jvm)=/.test(word),
    ),
    'Maven runs a program',
  );

/** `date 010100002030`, `hostname NAME`. */
const setsSystem =
  (operand: RegExp, reason: string): Doubts =>
  (call) =>
    doubtAt(
      call.words.findIndex(
        (word, place) =>
          place > 0 &&
          operand.test(word) &&
          !/^-[dfrI]$|^--(date|file|reference)$/.test(call.words[place - 1] ?? ''),
      ),
      reason,
    );

/** `go env -w NAME=value` keeps what a variable would set once; `go generate` runs what comments say. */
const goEnv: Doubts = (call) => {
  if (call.words[1] !== 'env' || !call.words.includes('-w')) return undefined;
  return doubtAt(
    call.words.findIndex((word) => {
      const [, name, value = ''] = /^(\w+)=(.*)$/s.exec(word) ?? [];
      return (
        name !== undefined &&
        (variableDoubt(name, value) !== undefined || /^(CC|CXX|GOROOT|PKG_CONFIG)$/.test(name))
      );
    }),
    'go settings that go runs',
  );
};

/** tar's first word may be a cluster of letters whose values follow one by one. */
const tarLetters: Doubts = (call) =>
  /^[a-zA-Z]*[IF]/.test(call.words[1] ?? '') ? doubtAt(1, 'the letters name a program') : undefined;

/** An editor or pager that is told to run something when it opens. */
const opensWithCode: Doubts = (call) =>
  doubtAt(
    call.words.findIndex((word, place) => place > 0 && /^\+.*[!|]/.test(word)),
    'runs code when it opens',
  );

const socat: Doubts = (call) =>
  doubtAt(
    call.words.findIndex((word) => /(^|,)(exec|system|shell):/i.test(word)),
    'runs code',
  );

const npmSettings: Doubts = (call) => {
  if (call.words[1] !== 'config' && call.words[1] !== 'set') return undefined;
  return doubtAt(
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
    return extracts ? doubtAt(index, 'writes into the system tree') : undefined;
  };

const writesSystem: Doubts = (call) => {
  const index = call.words.findLastIndex((word, place) => place > 0 && !word.startsWith('-'));
  return index > 0 && isInSystem((call.words[index] ?? '').replace(/^of=/, ''), call.cwd)
    ? doubtAt(index, 'writes into the system tree')
    : undefined;
};

/** `tee` is a redirection that is spelled as a command; only a free command that names the file lifts that. */
const tee: Doubts = (call) =>
  doubtAt(
    call.words.findIndex(
      (word, place) =>
        place > 0 && word !== '' && !word.startsWith('-') && pathKind(word, call.cwd) !== 'sink',
    ),
    'writes a file',
  );

/** `of=` is a redirection that is spelled as an operand, as `tee` is one that is spelled as a command. */
const dd: Doubts = (call) =>
  doubtAt(
    call.words.findIndex((word) => word.startsWith('of=') && pathKind(word.slice(3), call.cwd) !== 'sink'),
    'writes a file',
  );

const rm: Doubts = (call) =>
  deletesUnknown(call)
    ? { index: call.words.length, reason: 'what is deleted is known only when it runs' }
    : undefined;

const chmod: Doubts = (call) => {
  const mode = chmodMode(call);
  return mode !== undefined && modeEffect(mode) === 'unknown'
    ? doubtAt(call.words.indexOf(mode), 'the mode is known only when it runs')
    : undefined;
};

const reference: Doubts = (call) =>
  doubtAt(
    call.words.findIndex((word, place) => place > 0 && word.startsWith('--ref')),
    'what it takes over from another file is known only when it runs',
  );

const chown: Doubts = (call) => {
  const index = call.words.findIndex((word, place) => place > 0 && !word.startsWith('-'));
  return hasUnknown(call.words[index] ?? '')
    ? doubtAt(index, 'the owner is known only when it runs')
    : undefined;
};

const umask: Doubts = (call) => {
  const index = call.words.findIndex(
    (word, place) => place > 0 && (/^0*[0-7]?[0-7]?[0145]$/.test(word) || /[oa][+=].*w/.test(word)),
  );
  return doubtAt(index, 'opens the permissions of every new file');
};

/** `\\!`, `.shell`, `system`: a client's own way to a shell. */
const ownEscapes: Doubts = (call) => doubtAt(readEmbedded(call)[0]?.from ?? 0, 'runs code');

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
  return doubtAt(index, 'runs a text that is known only when it runs');
};

const shopt: Doubts = (call) =>
  doubtAt(call.words.indexOf('expand_aliases'), 'lets aliases replace commands');

/** `-k` takes assignments for variables wherever they stand, and history writes commands that nobody has read. */
const set: Doubts = ({ words }) => {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return doubtAt(
    words
      .slice(0, end)
      .findIndex(
        (word, place) =>
          place > 0 &&
          (/^-[a-zA-Z]*[kH]/.test(word) ||
            (/^-[a-zA-Z]*o$/.test(words[place - 1] ?? '') && /^(keyword|histexpand|history)$/.test(word))),
      ),
    'changes how the lines that follow are read',
  );
};

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
    return sink ? undefined : doubtAt(second, 'writes a file');
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
  make: [makeVariables, makeInput],
  gmake: [makeVariables, makeInput],
  mvn: [mvn],
  mvnw: [mvn],
  go: [goEnv],
  date: [setsSystem(/^\d{8,12}(\.\d\d)?$/, 'sets the clock')],
  hostname: [setsSystem(/^(?!-)|^(-F|-b|--file|--boot)/, 'sets the name of the host')],
  less: [opensWithCode],
  more: [opensWithCode],
  vim: [opensWithCode],
  vi: [opensWithCode],
  nvim: [opensWithCode],
  view: [opensWithCode],
  socat: [socat],
  npm: [npmSettings],
  pnpm: [npmSettings],
  yarn: [npmSettings],
  tar: [tarLetters, unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  gtar: [tarLetters, unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  bsdtar: [tarLetters, unpacksInto(/^(-[a-zA-Z]*C|--directory)$/)],
  unzip: [unpacksInto(/^-d$/)],
  cp: [writesSystem],
  mv: [writesSystem],
  ln: [writesSystem],
  install: [writesSystem],
  tee: [tee],
  dd: [dd],
  touch: [writesSystem],
  rsync: [writesSystem],
  rm: [rm],
  grm: [rm],
  rimraf: [rm],
  chmod: [chmod, reference],
  chown: [chown, reference],
  chgrp: [chown, reference],
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
  return [...checks.flatMap((check) => check(call) ?? []), ...placeDoubts(call), ...clientDoubts(call)];
}
