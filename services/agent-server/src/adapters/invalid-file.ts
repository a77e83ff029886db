import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** A file that a setting names and that cannot be what it is named for. @param why ends the sentence that names the file */
export function invalidFile(variable: string, file: string, why: string, cause?: unknown): CodedError {
  return new CodedError(
    'configuration_invalid',
    `${variable}: the file ${file} ${why}.`,
    { variable, file },
    cause,
  );
}
