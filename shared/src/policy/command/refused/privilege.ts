import { isKnown } from '../syntax/marks.ts';
import type { Call, Refusal } from './call.ts';
import { operandsOf } from './call.ts';

/** Programs whose only purpose is to run something with other rights, on Unix and on Windows. */
export const escalators: readonly string[] = [
  'sudo',
  'sudoedit',
  'sudo-rs',
  'sudo.ws',
  'lxqt-sudo',
  'xdg-su',
  'gnomesu',
  'pleaseedit',
  'sudoreplay',
  'ksu',
  'sux',
  'su',
  'su-rs',
  'su-exec',
  'doas',
  'doasedit',
  'pkexec',
  'runuser',
  'run0',
  'gosu',
  'setuidgid',
  's6-setuidgid',
  'gksudo',
  'gksu',
  'kdesudo',
  'kdesu',
  'lxsudo',
  'lxsu',
  'beesu',
  'calife',
  'dzdo',
  'pfexec',
  'pbrun',
  'visudo',
  'vipw',
  'vigr',
  // Windows
  'runas',
  'gsudo',
  'psexec',
  'psexec64',
  'paexec',
  'nsudo',
  'nsudolg',
  'nsudolc',
  'elevate',
  'runasti',
  'superuser64',
  'advancedrun',
];

const adminGroups = /^(sudo|wheel|root|admin|administrators|builtin\\administrators|docker-root)$/i;

const starters = /^(start-process|saps|start)$/;

/** `-Verb RunAs` in any spelling asks Windows for an administrator's token, whichever cmdlet carries it. */
export const runAsVerb: Refusal = (call) => {
  for (const [index, raw] of call.raws.entries()) {
    const verb = /^(-v(?:e(?:r(?:b)?)?)?)(?::(.*))?$/s.exec(unquote(raw).toLowerCase());
    if (verb === null || (verb[1] !== '-verb' && !starters.test(call.name))) continue;
    const value = unquote(verb[2] ?? call.raws[index + 1] ?? '').toLowerCase();
    // a verb from a variable may be this one
    const runs =
      value === 'runas' ||
      /^runas$/i.test(call.words[index + 1] ?? '') ||
      (starters.test(call.name) && value.startsWith('$'));
    if (runs) return 'starts a program as administrator';
  }
  return undefined;
};

const joinsAdminGroup: Refusal = (call) =>
  call.words.some((word) => isKnown(word) && word.split(',').some((name) => adminGroups.test(name)))
    ? 'adds a user to an administrators group'
    : undefined;

const usermod: Refusal = (call) => {
  const groups = call.words.filter((word, index) => {
    const before = call.words[index - 1] ?? '';
    return /^-[a-zA-Z]*[gG]$/.test(before) || before === '--groups' || word.startsWith('--groups=');
  });
  const rootId = call.words.some(
    (word, index) => /^-o?u$/.test(call.words[index - 1] ?? '') && /^0+$/.test(word),
  );
  if (rootId) return 'gives a user the identity of root';
  return joinsAdminGroup({ ...call, words: groups.map((word) => word.replace('--groups=', '')) });
};

const net: Refusal = (call) => {
  const words = call.raws.map((raw) => unquote(raw).toLowerCase());
  const adds = words.includes('/add') || words.some((word) => word.startsWith('/active'));
  const group = words[1] === 'localgroup' && words.includes('administrators');
  const user = words[1] === 'user' && words.includes('administrator');
  return adds && (group || user) ? 'gives administrator rights' : undefined;
};

const schtasks: Refusal = (call) =>
  /\/ru["' ]+(nt authority\\+)?system|\/rl["' ]+highest/i.test(call.raws.join(' '))
    ? 'schedules a program with system rights'
    : undefined;

const osascript: Refusal = (call) =>
  call.words.some((word) => /with\s+administrator\s+privileges/i.test(word))
    ? 'asks for administrator privileges'
    : undefined;

const machinectl: Refusal = (call) =>
  operandsOf(call)[0] === 'shell' ? 'opens a shell of another user' : undefined;

/** `setpriv`, `capsh`, `chroot --userspec`, `systemd-run --uid`: other purposes, but they take an identity. */
const takesRoot: Refusal = (call) =>
  call.words.some(
    (word, index) =>
      /^--(reuid|ruid|euid|regid|uid|user|userspec)=(root|0+)(:|$)/.test(word) ||
      (/^--(reuid|ruid|euid|regid|uid|user)$/.test(word) && /^(root|0+)$/.test(call.words[index + 1] ?? '')),
  )
    ? 'takes the identity of root'
    : undefined;

/** Programs of another purpose whose option names the user to run as. */
const runsAsRoot =
  (option: RegExp): Refusal =>
  (call) =>
    call.words.some(
      (word, index) => option.test(call.words[index - 1] ?? '') && /^:?(root|0+)(:|$)/.test(word),
    )
      ? 'takes the identity of root'
      : undefined;

const nircmd: Refusal = (call) =>
  call.words.some((word) => /^(elevate|elevatecmd|runassystem)$/i.test(word))
    ? 'starts a program as administrator'
    : undefined;

const capabilities: Refusal = (call: Call) =>
  call.words.some((word) => word === '-r' || word === '-v')
    ? undefined
    : 'grants capabilities to a program, as a setuid bit would';

/** Refusals of the family by program name. */
export const privilegeRefusals: Readonly<Record<string, Refusal>> = {
  usermod,
  gpasswd: joinsAdminGroup,
  adduser: (call) => joinsAdminGroup({ ...call, words: operandsOf(call).slice(1) }),
  useradd: usermod,
  sg: joinsAdminGroup,
  newgrp: joinsAdminGroup,
  dseditgroup: joinsAdminGroup,
  net,
  net1: net,
  'add-localgroupmember': joinsAdminGroup,
  schtasks,
  machinectl,
  osascript,
  setpriv: takesRoot,
  capsh: takesRoot,
  wsl: runsAsRoot(/^(-u|--user)$/),
  login: runsAsRoot(/^(-f|login)$/),
  chpst: runsAsRoot(/^-[uU]$/),
  'start-stop-daemon': runsAsRoot(/^(-c|--chuid)$/),
  daemonize: runsAsRoot(/^-u$/),
  nircmd,
  nircmdc: nircmd,
  chroot: takesRoot,
  'systemd-run': takesRoot,
  setcap: capabilities,
};

function unquote(text: string): string {
  return text.replace(/^["']+|["']+$/g, '');
}
