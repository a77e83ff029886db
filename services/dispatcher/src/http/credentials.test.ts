import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { flowOf, tokenOf } from './credentials.ts';

const asked = (hostname: string, cookie: string) =>
  ({ hostname, headers: { cookie } }) as unknown as FastifyRequest;

test('the cookie that any host of the domain could set counts on this machine alone', () => {
  const plain = 'lemniscate=lml_tossed; lemniscate-login=tossed';
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    assert.deepEqual(tokenOf(asked(host, plain)), { token: 'lml_tossed', by: 'cookie' });
    assert.equal(flowOf(asked(host, plain)), 'tossed');
  }
  for (const host of ['fleet.example.org', '127.0.0.1.example.org', '10.0.0.7']) {
    assert.equal(tokenOf(asked(host, plain)), null, host);
    assert.equal(flowOf(asked(host, plain)), null, host);
  }
  const both = `${plain}; __Host-lemniscate=lml_own; __Host-lemniscate-login=own`;
  assert.equal(tokenOf(asked('fleet.example.org', both))?.token, 'lml_own');
  assert.equal(flowOf(asked('fleet.example.org', both)), 'own');
});
