import { riskyOptions } from '../hardening/options.ts';
import { sedEffects } from '../hardening/sed-script.ts';
import { variableDoubt } from '../hardening/variables.ts';
import type { Call } from '../refused/call.ts';
import { gitCommandAt } from './git.ts';
import type { Inner } from './inner.ts';
import { readLanguageCode } from './language-code.ts';

/** Shell code that stands inside the language of another program's words; only its refusals count. */
type Finder = (word: string, before: string) => readonly string[];

const afterOption =
  (pattern: RegExp, strip: RegExp = /^/): Finder =>
  (word, before) => {
    const attached = /^(--[\w-]+)=(.*)$/s.exec(word);
    const [option, value] = attached === null ? [before, word] : [attached[1] ?? '', attached[2] ?? ''];
    return pattern.test(option) ? [value.replace(strip, '')] : [];
  };

/** An editor's or pager's `!command`, in `-c '…'` and `+…`. */
const bang: Finder = (word, before) => {
  const script = /^(-[a-zA-Z]*c|--cmd)$/.test(before) ? word : /^\+(.*)$/s.exec(word)?.[1];
  const code =
    /^[\s:]*(?:\d+|%|sil(?:ent)?!?\s+|r(?:ead)?\s*|w(?:rite)?\s*|exe(?:cute)?\s*["'])*!(.*)$/s.exec(
      script ?? '',
    )?.[1];
  return code === undefined ? [] : [code];
};

const sed: Finder = (word) => {
  const codes: string[] = [];
  sedEffects(word.replace(/^--expression=/, ''), codes);
  return codes;
};

/** Git's subcommand decides what its words mean; found once, for a command may have thousands of words. */
function gitFinder(call: Call): Finder {
  const command = call.words[gitCommandAt(call.words)];
  if (command === 'config')
    return (word, before) =>
      word.startsWith('!') ? [word.slice(1)] : runningSetting.test(before) ? [word] : [];
  return command === 'archive' ? afterOption(/^--exec$/) : () => [];
}

/** `-o ProxyCommand=…` of ssh and its relatives. */
const sshSetting: Finder = (word, before) => {
  const setting = before === '-o' ? word : /^-o(.+)$/s.exec(word)?.[1];
  const code = /^(?:Proxy|Local|KnownHosts)Command[= ](.*)$/is.exec(setting ?? '')?.[1];
  return code === undefined ? [] : [code];
};

/** Settings of git whose value is a program. */
const runningSetting =
  /^(core\.(sshcommand|pager|editor|fsmonitor|askpass|gitproxy)|pager\..*|sequence\.editor|diff\.external|.*\.(cmd|textconv|clean|smudge|process|program|command|helper|driver))$/i;

/** `NAME=value`, where the variable makes other programs run its value. */
const assigned: Finder = (word) => {
  const [, name = '', value = ''] = /^([A-Za-z_]\w*)\+?=(.*)$/s.exec(word) ?? [];
  return name !== '' && variableDoubt(name, value) !== undefined ? [value.replace(/^\|[|-]*/, '')] : [];
};

/** `make CC='…'`: variables that stand where the recipes name a program. */
const recipe: Finder = (word) => {
  const value =
    /^\.?(?:SHELL|CC|CXX|LD|AR|AS|CPP|RM|SUDO|MAKE|CMD|COMMAND|RUN(?:NER)?|EXEC|\w+_(?:CMD|COMMAND))[:+?]*=(.*)$/s.exec(
      word,
    )?.[1];
  const shell = Array.from(word.matchAll(/\$\(shell ([^()]*)\)/g), (found) => found[1] ?? '');
  return value === undefined ? shell : [value, ...shell];
};

const finders: Readonly<Record<string, Finder>> = {
  make: recipe,
  export: assigned,
  declare: assigned,
  typeset: assigned,
  local: assigned,
  readonly: assigned,
  env: assigned,
  'cross-env': assigned,
  lldb: afterOption(/^(-o|-O|--one-line|--one-line-before-file)$/, /^\s*(!|(platform\s+)?shell\b)\s*/),
  ansible: afterOption(/^(-a|--args)$/),
  sed,
  vim: bang,
  less: bang,
  man: afterOption(/^(-P|-H|--pager|--html)$/),
  bind: afterOption(/^-x$/, /^\s*"[^"]*"\s*:?\s*/),
  gdb: afterOption(/^(-ex|-iex|--eval-command|--init-eval-command)$/, /^\s*(!|shell\b|pipe\b)\s*/),
  expect: (word, before) =>
    before === '-c'
      ? Array.from(word.matchAll(/\b(?:spawn|exec|system)\s+([^;\n]+)/g), (m) => m[1] ?? '')
      : [],
  socat: (word) => {
    const code = /(?:^|,)(?:exec|system|shell):["']?([^,"']*)/i.exec(word)?.[1];
    return code === undefined ? [] : [code];
  },
  // a shell is typed into, or one word is its whole command
  tmux: (word) => (/\s/.test(word) ? [word] : []),
  screen: (word, before) => (before === 'stuff' ? [word.replace(/\\n|\^M/g, '')] : []),
  tar: afterOption(/^(-[a-zA-Z]*F|--info-script|--new-volume-script)$/),
  zip: afterOption(/^(-TT|--unzip-command)$/),
  scp: (word, before) => [...afterOption(/^-S$/)(word, before), ...sshSetting(word, before)],
  ssh: sshSetting,
};

/** Code behind a client's own way to a shell, on each line that begins with it. */
const lines =
  (pattern: RegExp): Finder =>
  (word) =>
    Array.from(word.matchAll(pattern), (found) => found[1] ?? found[2] ?? '');

const clients: Readonly<Record<string, Finder>> = {
  // psql(1): `\!`, `\o |`, `\copy … program`, and COPY … PROGRAM of the server
  psql: lines(/(?:^|[\s;])\\(?:!|[ogw] *\|)([^\n]+)|\b(?:from|to) +program +'([^']*)/gi),
  mysql: lines(/(?:^|[\n;])[ \t]*(?:\\!|(?:system|pager)\b)([^\n]+)/gi),
  sqlite3: lines(/(?:^|\n)[ \t]*\.(?:(?:shell|system) |(?:once|output|import) +["']?\|)([^\n]+)/g),
  // addresses and `r`, `w`, `silent` may stand in front; one bounded class keeps the search linear
  ed: lines(/(?:^|\n)[\d,.$% \trwe]{0,40}!([^\n]+)/g),
  ftp: lines(/(?:^|\n)[ \t]*!([^\n]+)/g),
  ex: lines(/(?:^|\n)[\d,.$%: \ta-z]{0,40}!([^\n]+)/g),
  gdb: lines(/(?:^|\n)[ \t]*(?:!|(?:shell|pipe)\b)([^\n]+)/g),
  // five fields or `@daily`, then the command
  crontab: lines(/(?:^|\n)[ \t]*(?:@\w+|(?:[^\s#]+[ \t]+){4}[^\s#]+)[ \t]+([^\n]+)/g),
};
const clientsAlike: Readonly<Record<string, string>> = {
  mariadb: 'mysql',
  mycli: 'mysql',
  pgcli: 'psql',
  sqlite: 'sqlite3',
  red: 'ed',
  sftp: 'ftp',
  lftp: 'ftp',
  telnet: 'ftp',
  vim: 'ex',
  vi: 'ex',
  nvim: 'ex',
  lldb: 'gdb',
};

/** A client's commands among its arguments and on its input. */
function readClient(call: Call, text: string | undefined): Inner[] {
  const name = clientsAlike[call.name] ?? call.name;
  const find = Object.hasOwn(clients, name) ? clients[name] : undefined;
  if (find === undefined) return [];
  // the finders below know what editors and debuggers take as arguments
  const words = /^(ex|gdb)$/.test(name) ? [] : call.words.slice(1);
  return [...words.entries(), ...(text === undefined ? [] : [[0, text] as const])].flatMap(([index, word]) =>
    word.length > maxLength
      ? []
      : find(word.replace(/^--[a-z]+=/, ''), '').map((code): Inner => ({
          from: index + 1,
          run: { code },
          refusalsOnly: true,
        })),
  );
}

const alike: Readonly<Record<string, string>> = {
  gsed: 'sed',
  vi: 'vim',
  ex: 'vim',
  view: 'vim',
  nvim: 'vim',
  vimdiff: 'vim',
  more: 'less',
  gtar: 'tar',
  bsdtar: 'tar',
  sftp: 'ssh',
  gmake: 'make',
  genv: 'env',
};

function readAdb(call: Call): Inner[] {
  const from = call.words.indexOf('shell') + 1;
  if (from === 0 || from >= call.words.length) return [];
  return [{ from, run: { code: call.words.slice(from).join(' ') }, refusalsOnly: true }];
}

/** Longer words are no command of a person inside another's language. */
const maxLength = 4000;

/** What a program's own little language gives to a shell, where it stands in the words as a text. */
export function readEmbedded(call: Call, text?: string): Inner[] {
  return [
    ...readClient(call, text),
    ...readWords(call),
    ...readOptions(call),
    ...readLanguageCode(call, text),
  ];
}

/** The values of options that name what is run. */
function readOptions(call: Call): Inner[] {
  return riskyOptions(call).flatMap(({ index, code }) =>
    code === undefined || code.length > maxLength
      ? []
      : [{ from: index, run: { code }, refusalsOnly: true as const }],
  );
}

function readWords(call: Call): Inner[] {
  const name = alike[call.name] ?? call.name;
  if (name === 'adb') return readAdb(call);
  const find = name === 'git' ? gitFinder(call) : Object.hasOwn(finders, name) ? finders[name] : undefined;
  if (find === undefined) return [];
  return call.words.flatMap((word, index) =>
    index === 0 || word.length > maxLength
      ? []
      : find(word, call.words[index - 1] ?? '')
          .filter((code) => code.trim() !== '')
          .map((code): Inner => ({ from: index, run: { code }, refusalsOnly: true })),
  );
}
