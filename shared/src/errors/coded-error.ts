import { errorCatalogue } from './catalogue.ts';
import type { ErrorCode } from './catalogue.ts';

/** What a coded error may carry beside its sentence: small, printable, never a secret. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/**
 * The one error class that crosses a boundary: a stable code from the catalogue, a sentence that names the
 * thing and says what to do, and details for programs. It is a class because `instanceof Error` and stack
 * traces are what runtimes, loggers and test runners understand.
 */
export class CodedError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CodedError';
    this.code = code;
    this.details = details;
  }

  /** HTTP status from the catalogue. */
  get status(): number {
    return errorCatalogue[this.code].status;
  }
}

/** Narrows an unknown thrown value to a coded error, optionally of one code. */
export function isCodedError(value: unknown, code?: ErrorCode): value is CodedError {
  return value instanceof CodedError && (code === undefined || value.code === code);
}
