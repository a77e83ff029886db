/** The bounds that a sandbox is held to, by the names that an operator waives them with. */
export const sandboxLimits = ['memory', 'processes', 'cpu', 'disk'] as const;
export type SandboxLimit = (typeof sandboxLimits)[number];
