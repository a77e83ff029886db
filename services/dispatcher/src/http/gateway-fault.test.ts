import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { gatewayFault } from './gateway-fault.ts';

const said = (code: string, statusCode?: number) =>
  Object.assign(new Error('as Fastify says'), { code, ...(statusCode === undefined ? {} : { statusCode }) });

test('what Fastify says against a request has a code of ours', () => {
  const codeOf = (fault: unknown) => (isCodedError(fault) ? fault.code : fault);
  assert.equal(codeOf(gatewayFault(said('FST_ERR_CTP_BODY_TOO_LARGE', 413))), 'payload_too_large');
  assert.equal(codeOf(gatewayFault(said('FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400))), 'request_invalid');
});

test('a hang-up, whose code is a number, stays what it is, as does every fault of ours', () => {
  const hungUp = new DOMException('This operation was aborted', 'AbortError');
  assert.equal(typeof hungUp.code, 'number');
  for (const fault of [
    hungUp,
    said('FST_ERR_X', 500),
    said('ECONNRESET'),
    new Error('plain'),
    'a text',
    null,
  ])
    assert.equal(gatewayFault(fault), fault);
});
