import type { Socket } from 'node:net';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toProblem } from '@lemniscate/shared/errors/problem.ts';
import { problemMediaType } from './problems.ts';

/** Statuses that this can answer, with their words. */
const words: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** Answers what is no HTTP, has too large headers (16 KiB) or never ends, with a problem document, and hangs up. */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = toProblem(faultOf(error.code));
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : problem.status;
  const body = JSON.stringify({ ...problem, status });
  socket.end(
    `HTTP/1.1 ${status} ${words[status] ?? 'Bad Request'}\r\nContent-Type: ${problemMediaType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function faultOf(code: string | undefined): CodedError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new CodedError('headers_too_large', 'The headers are larger than 16 KiB. Send less in them.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new CodedError('request_invalid', 'The request did not end in time. Send it as a whole.');
  return new CodedError('request_invalid', 'This is not HTTP as it is spoken here.');
}
