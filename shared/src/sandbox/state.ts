import type { TransitionTable } from '../transition-table.ts';

/** The life of one sandbox on its server. */
export const sandboxStates = ['booting', 'warm', 'claimed', 'destroying', 'gone', 'broken'] as const;
export type SandboxState = (typeof sandboxStates)[number];

/**
 * Claimed once, destroyed after: there is no way back to `warm`. `broken` is a boot that failed or a sandbox
 * whose end could not be verified; it too must be destroyed.
 */
export const sandboxTransitions: TransitionTable<SandboxState> = {
  booting: ['warm', 'broken', 'destroying'],
  warm: ['claimed', 'broken', 'destroying'],
  claimed: ['destroying', 'broken'],
  destroying: ['gone', 'broken'],
  broken: ['destroying', 'gone'],
  gone: [],
};
