import { readFile } from 'node:fs/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parse } from 'yaml';
import type { SandboxProfile } from '../application/ports/sandbox-driver.ts';
import { readProfiles } from '../application/sandbox-profiles.ts';

/** @throws CodedError `configuration_invalid` naming the file and each fault */
export async function readProfilesFile(file: string | undefined): Promise<SandboxProfile[]> {
  if (file === undefined) return readProfiles(undefined);
  try {
    return readProfiles(parse(await readFile(file, 'utf8')) ?? {});
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_SANDBOX_PROFILES: ${file}: ${why}`,
      { file },
      error,
    );
  }
}
