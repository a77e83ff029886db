/** What an operator may write: a driver's name, or `auto` for docker where an engine answers, else bubblewrap. */
export const sandboxDriverChoices = ['auto', 'bubblewrap', 'docker'] as const;
export type SandboxDriverChoice = (typeof sandboxDriverChoices)[number];
