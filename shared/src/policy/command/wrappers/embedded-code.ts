import { sedEffects } from '../hardening/sed-script.ts';
import type { Call } from '../refused/call.ts';
import { gitCommandAt } from './git.ts';
import type { Inner } from './inner.ts';

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
  const script = /^(-c|--cmd)$/.test(before) ? word : /^\+(.*)$/s.exec(word)?.[1];
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
  if (command === 'config') return (word) => (word.startsWith('!') ? [word.slice(1)] : []);
  return command === 'archive' ? afterOption(/^--exec$/) : () => [];
}

const finders: Readonly<Record<string, Finder>> = {
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
  scp: afterOption(/^-S$/),
  ssh: (word, before) => {
    const setting = before === '-o' ? word : /^-o(.+)$/s.exec(word)?.[1];
    const code = /^(?:Proxy|Local|KnownHosts)Command[= ](.*)$/is.exec(setting ?? '')?.[1];
    return code === undefined ? [] : [code];
  },
};

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
};

function readAdb(call: Call): Inner[] {
  const from = call.words.indexOf('shell') + 1;
  if (from === 0 || from >= call.words.length) return [];
  return [{ from, run: { code: call.words.slice(from).join(' ') }, refusalsOnly: true }];
}

/** Longer words are no command of a person inside another's language. */
const maxLength = 4000;

/** What a program's own little language gives to a shell, where it stands in the words as a text. */
export function readEmbedded(call: Call): Inner[] {
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
