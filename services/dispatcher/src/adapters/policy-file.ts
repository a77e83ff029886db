import { readFile } from 'node:fs/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { policyDigest } from '@lemniscate/shared/policy/policy-digest.ts';
import { readPolicy } from '@lemniscate/shared/policy/policy-file.ts';
import { defaultPolicy } from '@lemniscate/shared/policy/policy.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { ProjectPolicy } from '../application/projects/project.ts';

/** Bounds of every session on this fleet, which a policy may tighten and a variable sets. */
export interface FleetBounds {
  readonly maxActions: number | undefined;
  readonly maxMinutes: number | undefined;
}

/**
 * Reads the policy of the local project; without a file every tool asks. The fleet's variables replace the budgets'
 * defaults.
 * @throws CodedError `configuration_invalid` naming file and fault
 */
export async function readPolicyFile(file: string | undefined, bounds: FleetBounds): Promise<ProjectPolicy> {
  const written = file === undefined ? defaultPolicy() : await parsePolicyFile(file);
  const policy: Policy = {
    ...written,
    budgets: {
      ...written.budgets,
      ...(bounds.maxActions === undefined ? {} : { maxActions: bounds.maxActions }),
      ...(bounds.maxMinutes === undefined ? {} : { maxMinutes: bounds.maxMinutes }),
    },
  };
  return { policy, digest: policyDigest(policy) };
}

async function parsePolicyFile(file: string): Promise<Policy> {
  try {
    return readPolicy(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_DEFAULT_POLICY: ${file} cannot be read as a policy. ${error instanceof Error ? error.message : ''}`,
      { file },
      error,
    );
  }
}
