import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { relative } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxMount, SandboxProfile } from '../../application/ports/sandbox-driver.ts';
import { commandEnvironment } from './command-environment.ts';

/**
 * Looks whether this machine has a profile's toolchains, before any session relies on them.
 * @throws CodedError `configuration_invalid` for one that is no folder, or that would show a whole home
 */
export function requireToolchains({ name, toolchains = [] }: SandboxProfile): void {
  for (const folder of toolchains) {
    const refuse = (why: string): never => {
      throw new CodedError(
        'configuration_invalid',
        `The sandbox profile "${name}" names the toolchain ${folder}, ${why}.`,
        { profile: name, folder },
      );
    };
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      refuse('which is no folder of this machine: mend the path, or take it out of the profile');
    if (!relative(folder, homedir()).startsWith('..'))
      refuse(`which holds the home ${homedir()} and its secrets: name the folder of the toolchain itself`);
  }
}

/** How a sandbox sees them: read-only, where they are. */
export function toolchainMounts({ toolchains = [] }: SandboxProfile): SandboxMount[] {
  return toolchains.map((folder) => ({ source: folder, target: folder, readOnly: true }));
}

/** What commands are given of the environment for them. */
export function toolchainEnvironment({ toolchains = [] }: SandboxProfile): Readonly<Record<string, string>> {
  if (toolchains.length === 0) return {};
  const bins = toolchains.map((folder) => `${folder}/bin`);
  return { PATH: [...bins, commandEnvironment['PATH']].join(':') };
}
