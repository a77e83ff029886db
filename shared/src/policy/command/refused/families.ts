import { fitsPattern, hasUnknown, isKnown } from '../syntax/marks.ts';
import type { Call, Refusal } from './call.ts';
import { destructionRefusals, formatterName, formatters } from './destruction.ts';
import {
  firewallCmdlet,
  firewallPrograms,
  kernelAndFirewallRefusals,
  kernelLoaders,
} from './kernel-and-firewall.ts';
import { permissionRefusals } from './permissions.ts';
import { escalators, privilegeRefusals, runAsVerb } from './privilege.ts';
import { windowsRefusals } from './windows.ts';

const always =
  (reason: string): Refusal =>
  () =>
    reason;

const named = (names: readonly string[], reason: string): Record<string, Refusal> =>
  Object.fromEntries(names.map((name) => [name, always(reason)]));

const evaluates = 'eval runs text that was not judged';

/** A builtin is not addressed by a path: `bin/exec` is a file of the project. */
const isFile = (call: Call): boolean => (call.words[0] ?? '').includes('/');

/** Elixir's shell has the name of PowerShell's alias, and options and scripts that none of its expressions look like. */
const isElixir = (call: Call): boolean =>
  /^(-S|-r|-pa|-pz|--(version|sname|name|cookie|erl|dot-iex|remsh|no-halt|help)|[\w./-]+\.exs?)$/.test(
    call.words[1] ?? '',
  );

/** Families that a name alone decides. */
const byName: Readonly<Record<string, Refusal>> = {
  ...named(escalators, 'privilege escalation'),
  ...named(formatters, 'formats or erases a disk'),
  ...named(kernelLoaders, 'loads or unloads a kernel module'),
  ...named(firewallPrograms, 'modifies the firewall'),
  ...named(['invoke-expression'], evaluates),
  eval: (call) => (isFile(call) ? undefined : evaluates),
  exec: (call) => (isFile(call) ? undefined : 'exec replaces the shell'),
  iex: (call) => (isElixir(call) ? undefined : evaluates),
};

/** Families that depend on the arguments; a name can stand in several. */
const byArguments: readonly Readonly<Record<string, Refusal>>[] = [
  destructionRefusals,
  permissionRefusals,
  privilegeRefusals,
  kernelAndFirewallRefusals,
  ...windowsRefusals,
];

/**
 * The reason why no approval can let the call run, or undefined. This is the whole list of what is refused; the
 * sandbox is the boundary, this is hygiene in front of it.
 */
export function refusalOf(call: Call): string | undefined {
  const alone = lookUp(byName, call.name)?.(call);
  if (alone !== undefined) return alone;
  if (formatterName.test(call.name)) return 'formats a disk';
  if (firewallCmdlet.test(call.name)) return 'modifies the firewall';
  for (const family of byArguments) {
    const reason = lookUp(family, call.name)?.(call);
    if (reason !== undefined) return reason;
  }
  return runAsVerb(call);
}

/**
 * The reason why a name that is a pattern of files is refused: `/usr/bin/sud?` is `sudo` where programs of the system
 * lie. A pattern of hardly a letter fits every name and only asks.
 */
export function refusalOfPattern(name: string): string | undefined {
  const at = name.lastIndexOf('/');
  const [folder, last] = [name.slice(0, at), name.slice(at + 1)];
  if (isKnown(name) || hasUnknown(name) || (last.match(/[a-z]/gi) ?? []).length < 2) return undefined;
  if (!programFolders.some((one) => fitsPattern(folder, one))) return undefined;
  const found = Object.entries(byName).find(([program]) => fitsPattern(last, program));
  return found?.[1]({ name: found[0], words: [found[0]], raws: [found[0]], cwd: '' });
}

const programFolders: readonly string[] = ['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin'];

function lookUp(family: Readonly<Record<string, Refusal>>, name: string): Refusal | undefined {
  return Object.hasOwn(family, name) ? family[name] : undefined;
}
