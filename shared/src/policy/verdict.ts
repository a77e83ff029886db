/** The three values of a tool in a policy, from the most to the least restrictive. */
export const verdicts = ['disabled', 'allowedWithPermission', 'allowedWithoutPermission'] as const;
export type Verdict = (typeof verdicts)[number];

/** Without a decision of the administrator a person is asked. */
export const defaultVerdict: Verdict = 'allowedWithPermission';

/** The terminal's names of the same three values. */
export const verdictAliases = {
  exclude: 'disabled',
  ask: 'allowedWithPermission',
  allow: 'allowedWithoutPermission',
} as const satisfies Readonly<Record<string, Verdict>>;
export type VerdictAlias = keyof typeof verdictAliases;

/** What the terminal calls a verdict. */
export function verdictAlias(verdict: Verdict): VerdictAlias {
  if (verdict === 'disabled') return 'exclude';
  return verdict === 'allowedWithPermission' ? 'ask' : 'allow';
}

/** The most restrictive of the verdicts; of none: `disabled`, for nothing was judged. */
export function mostRestrictive(given: readonly Verdict[]): Verdict {
  return verdicts.find((verdict) => given.includes(verdict)) ?? 'disabled';
}

/**
 * What reading a command says, from the most to the least restrictive. `disabled`: it could not be read.
 * `refuse`: it belongs to a family that no approval unblocks. Neither runs.
 */
export const commandVerdicts = ['disabled', 'refuse', 'ask', 'allow'] as const;
export type CommandVerdict = (typeof commandVerdicts)[number];

/** Whether `left` is stricter than `right`. */
export function isStricter(left: CommandVerdict, right: CommandVerdict): boolean {
  return commandVerdicts.indexOf(left) < commandVerdicts.indexOf(right);
}

/** The stricter of two command verdicts. */
export function stricter(left: CommandVerdict, right: CommandVerdict): CommandVerdict {
  return isStricter(left, right) ? left : right;
}

/** The tool verdict that a command verdict amounts to. */
export const verdictOfCommand = {
  disabled: 'disabled',
  refuse: 'disabled',
  ask: 'allowedWithPermission',
  allow: 'allowedWithoutPermission',
} as const satisfies Readonly<Record<CommandVerdict, Verdict>>;
