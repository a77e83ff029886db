import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

const mark = { answered: false } as const;

/** What a call to the dispatcher throws that got no answer from it. */
export function noAnswer(message: string, cause: unknown): CodedError {
  return new CodedError('service_unreachable', message, mark, cause);
}

/**
 * Whether nothing came back. A dispatcher whose record cannot be reached says `service_unreachable` too, but says it:
 * whoever hears it is not cut off.
 */
export function gotNoAnswer(error: unknown): boolean {
  return isCodedError(error, 'service_unreachable') && error.details['answered'] === mark.answered;
}
