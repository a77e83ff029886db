import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Ids and server names become folder, control group and label names. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

/** @throws CodedError `sandbox_start_failed` when the name could not be a folder's */
export function checkName(kind: 'sandbox' | 'server', name: string): string {
  if (pattern.test(name)) return name;
  throw new CodedError(
    'sandbox_start_failed',
    `The ${kind} id ${JSON.stringify(name)} cannot name a folder: use letters, digits, "_", "." and "-".`,
  );
}
