import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

const marks = { silent: { answered: false, refused: false }, refused: { answered: false, refused: true } };

/** Codes of connections that somebody on the way turned down: the line is there, and no dispatcher behind it. */
const turnedDown: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET']);

/** What a call to the dispatcher throws that got no answer from it. */
export function noAnswer(message: string, cause: unknown): CodedError {
  const mark = wasTurnedDown(cause) ? marks.refused : marks.silent;
  return new CodedError('service_unreachable', message, mark, cause);
}

/** Several addresses were tried where there are several. */
function wasTurnedDown(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(wasTurnedDown);
  return cause instanceof Error && turnedDown.has((cause as NodeJS.ErrnoException).code);
}

/**
 * Whether nothing at all came back, as over a line that is cut. A dispatcher whose record cannot be reached says
 * `service_unreachable` too, but says it; and where connections are turned down, no dispatcher runs: then nobody has been
 * cut off from one.
 */
export function heardNothing(error: unknown): boolean {
  return isCodedError(error, 'service_unreachable') && error.details['refused'] === marks.silent.refused;
}
