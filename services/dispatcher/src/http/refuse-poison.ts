import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { someText } from '../application/json-walk.ts';
import type { App } from './app.ts';

/**
 * Refuses requests whose body, query or path holds NUL or half a surrogate pair. Postgres stores neither and they have
 * no canonical form, so whatever they reached would fail as a fault of ours.
 */
export function refusePoison(app: App): void {
  app.addHook('preValidation', async (request) => {
    for (const [where, value] of [
      ['body', request.body],
      ['query', request.query],
      ['path', request.params],
    ] as const)
      requireHarmless(where, value);
  });
}

/** @param where for the sentence @throws CodedError `request_invalid` for text that nothing can store */
export function requireHarmless(where: string, value: unknown): void {
  if (!someText(value, isPoison)) return;
  throw new CodedError(
    'request_invalid',
    `The ${where} holds a NUL character or half a surrogate pair. Send text without them.`,
  );
}

function isPoison(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}
