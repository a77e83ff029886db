import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { idPattern } from '@lemniscate/shared/id.ts';

const sessionId = idPattern('session');

/** Where a page of sessions ends, as its reader sends it back. */
export function cursorOf(id: string): string {
  return Buffer.from(id).toString('base64url');
}

/** @throws CodedError `request_invalid` for a cursor that is none of ours */
export function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (sessionId.test(id)) return id;
  throw new CodedError('request_invalid', 'The cursor is not one of ours. Start without one.');
}
