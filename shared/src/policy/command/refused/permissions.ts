import { isKnown } from '../syntax/marks.ts';
import type { Call, Refusal } from './call.ts';
import { operandsOf } from './call.ts';

/** What a mode does to a file: opens it to everybody, or makes it run with its owner's rights. */
export type ModeEffect = 'opens' | 'setuid' | 'harmless' | 'unknown';

const everybodyWrites = 0o002;
const setsIdentity = 0o6000;

/**
 * Reads a mode as chmod does (POSIX chmod, GNU coreutils "Numeric modes" and "Symbolic modes"). Everybody's
 * write bit is what opens; `+x` and `a+r` are everyday. Without a who (`+w`) the umask takes the open bits away.
 */
export function modeEffect(mode: string): ModeEffect {
  if (!isKnown(mode)) return 'unknown';
  const numeric = /^([-+=]?)([0-7]+)$/.exec(mode);
  if (numeric !== null) return numeric[1] === '-' ? 'harmless' : numericEffect(numeric[2] ?? '');
  const effects = mode.split(',').map(symbolicEffect);
  return (['setuid', 'opens', 'unknown'] as const).find((effect) => effects.includes(effect)) ?? 'harmless';
}

function numericEffect(digits: string): ModeEffect {
  const value = Number.parseInt(digits.slice(-5), 8);
  if ((value & setsIdentity) !== 0) return 'setuid';
  return (value & everybodyWrites) !== 0 ? 'opens' : 'harmless';
}

function symbolicEffect(clause: string): ModeEffect {
  const found = /^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]|[0-7]+))+)$/.exec(clause);
  if (found === null) return 'unknown';
  const who = found[1] ?? '';
  const others = /[oa]/.test(who);
  const effects = (found[2] ?? '').split(/(?=[-+=])/).map((action): ModeEffect => {
    if (action.startsWith('-')) return 'harmless';
    if (/[0-7]/.test(action)) return numericEffect(action.slice(1));
    // `o+s` does nothing; s for owner, group or all (the default) is the bit
    if (action.includes('s') && who !== 'o') return 'setuid';
    if (others && (action.includes('w') || action.slice(1) === 'u')) return 'opens';
    return 'harmless';
  });
  return (['setuid', 'opens'] as const).find((effect) => effects.includes(effect)) ?? 'harmless';
}

const reasons: Partial<Record<ModeEffect, string>> = {
  opens: 'opens permissions to everybody',
  setuid: 'sets a setuid or setgid bit',
};

/** chmod's mode: the first operand, or a word such as `-w` that looks like an option. */
export function chmodMode(call: Call): string | undefined {
  if (call.words.some((word) => word.startsWith('--ref'))) return undefined;
  const words = call.words.slice(1).filter((word) => word !== '--');
  return words.find((word) => !word.startsWith('-') || /^-[rwxXstugo,+=0-7]+$/.test(word));
}

const chmod: Refusal = (call) => {
  const mode = chmodMode(call);
  return mode === undefined ? undefined : reasons[modeEffect(mode)];
};

/** `-m MODE` and `--mode=MODE` of mkdir, install, mkfifo, mknod. */
const modeOption: Refusal = (call) => {
  for (const [index, word] of call.words.entries()) {
    const next = call.words[index + 1] ?? '';
    const mode = word.startsWith('--mode=')
      ? word.slice('--mode='.length)
      : /^(--mode|-[a-zA-Z]*m)$/.test(word)
        ? next
        : /^-[a-zA-Z]*m([0-7]+|[ugoa]*[-+=].*)$/.exec(word)?.[1];
    const reason = mode === undefined ? undefined : reasons[modeEffect(mode)];
    if (reason !== undefined) return reason;
  }
  return undefined;
};

/** Whether an owner or group is root, in chown's spellings: `root`, `0`, `+0`, `user:root`, `:0`, `root.root`. */
export function namesRoot(owner: string): boolean {
  return owner.split(/[:.]/).some((name) => /^(root|wheel|\+?0+)$/.test(name));
}

const toRoot = 'changes ownership to root';

const chown: Refusal = (call) => {
  const reference = call.words.find((word) => word.startsWith('--ref'));
  if (reference !== undefined) return /=\/(etc|bin|usr|root|$)/.test(reference) ? toRoot : undefined;
  const words = call.words.filter((_, index) => call.words[index - 1] !== '--from');
  const owner = operandsOf({ ...call, words })[0];
  return owner !== undefined && namesRoot(owner) ? toRoot : undefined;
};

const install: Refusal = (call) => {
  const root = call.words.some((word, index) => {
    const long = /^--(owner|group)=(.*)$/.exec(word)?.[2];
    const before = call.words[index - 1] ?? '';
    return (
      (long !== undefined && namesRoot(long)) ||
      (/^(-[a-zA-Z]*[og]|--owner|--group)$/.test(before) && namesRoot(word))
    );
  });
  return root ? toRoot : modeOption(call);
};

/** `--chmod=D777,F666` and `--chown=USER:GROUP` for what is copied. */
const rsync: Refusal = (call) => {
  for (const [index, word] of call.words.entries()) {
    const before = call.words[index - 1] ?? '';
    const [, option = before, value = word] = /^(--\w+)=(.*)$/s.exec(word) ?? [];
    if (option === '--chown' && namesRoot(value)) return toRoot;
    if (option !== '--chmod') continue;
    const modes = value.split(',').map((mode) => modeEffect(mode.replace(/^[DF]/, '')));
    const effect = (['setuid', 'opens'] as const).find((one) => modes.includes(one));
    if (effect !== undefined) return reasons[effect];
  }
  return undefined;
};

const setfacl: Refusal = (call) =>
  call.words.some((word) => /(^|[,:=])(o|other)::?[-r]*w/.test(word)) ? reasons.opens : undefined;

const everyone =
  /["']?(\*?S-1-1-0|everyone|jeder|tout le monde|todos|\*?S-1-5-32-545|(builtin\\)?users|authenticated users)["']?:/i;

/** icacls and its elders: a grant of write or full access to everybody, or the owner's change. */
const icacls: Refusal = (call) => {
  const text = call.raws.join(' ');
  if (/\/setowner/i.test(text)) return 'changes ownership to another account';
  const grants = /\/(grant|g|e|p)(:r)?\b/i.test(text) && everyone.test(text);
  return grants && /:(\([a-z]+\))*\(?[a-z,]*[FMWC]/i.test(text) ? reasons.opens : undefined;
};

/** Refusals of the family by program name. */
export const permissionRefusals: Readonly<Record<string, Refusal>> = {
  chmod,
  gchmod: chmod,
  mkdir: modeOption,
  mkfifo: modeOption,
  mknod: modeOption,
  install,
  chown,
  gchown: chown,
  lchown: chown,
  chgrp: chown,
  rsync,
  setfacl,
  icacls,
  cacls: icacls,
  xcacls: icacls,
  takeown: () => 'takes ownership as administrator',
};
