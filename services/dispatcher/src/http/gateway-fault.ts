import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Longest request to a model: pictures and long histories. Bytes. */
export const gatewayBodyLimit = 32 * 1024 * 1024;

/** What Fastify says against a request, as an error of ours; anything else as it is. */
export function gatewayFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  // A hang-up is a DOMException, whose code is a number.
  const { code } = error;
  if (typeof code !== 'string' || !code.startsWith('FST_')) return error;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new CodedError('payload_too_large', `A request has at most ${gatewayBodyLimit} bytes.`);
  const status = 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status < 500
    ? new CodedError('request_invalid', error.message)
    : error;
}
