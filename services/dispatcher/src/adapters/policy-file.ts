import { readFile } from 'node:fs/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { BudgetDefaults } from '@lemniscate/shared/policy/policy-file.ts';
import { readWrittenPolicy } from '../application/projects/change-policy.ts';
import type { WrittenPolicy } from '../application/projects/change-policy.ts';

/**
 * Reads the policy of the local project; without a file every tool asks. Bounds that it does not write are the fleet's.
 * @throws CodedError `configuration_invalid` naming file and fault
 */
export async function readPolicyFile(
  file: string | undefined,
  defaults: BudgetDefaults,
): Promise<WrittenPolicy> {
  if (file === undefined) return readWrittenPolicy('', defaults);
  try {
    return readWrittenPolicy(await readFile(file, 'utf8'), defaults);
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_DEFAULT_POLICY: ${file} cannot be read as a policy. ${error instanceof Error ? error.message : ''}`,
      { file },
      error,
    );
  }
}
