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

/** Families that a name alone decides. */
const byName: Readonly<Record<string, Refusal>> = {
  ...named(escalators, 'privilege escalation'),
  ...named(formatters, 'formats or erases a disk'),
  ...named(kernelLoaders, 'loads or unloads a kernel module'),
  ...named(firewallPrograms, 'modifies the firewall'),
  ...named(['eval', 'invoke-expression', 'iex'], 'eval runs text that was not judged'),
  ...named(['exec'], 'exec replaces the shell'),
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

function lookUp(family: Readonly<Record<string, Refusal>>, name: string): Refusal | undefined {
  return Object.hasOwn(family, name) ? family[name] : undefined;
}
