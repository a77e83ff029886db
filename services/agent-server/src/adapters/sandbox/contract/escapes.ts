import type { EscapeAttempt } from './escapes/escape-attempt.ts';
import { files } from './escapes/files.ts';
import { kernel } from './escapes/kernel.ts';
import { network } from './escapes/network.ts';
import { identity, processes } from './escapes/processes.ts';

/** Everything that is tried on every driver. A new attempt is one entry; its control runs by itself. */
export const escapeAttempts: readonly EscapeAttempt[] = [
  ...network,
  ...files,
  ...identity,
  ...processes,
  ...kernel,
];
