import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { createVaultReader } from './vault-keys.ts';
import type { ReadVault } from './vault-keys.ts';

// Vault's HTTP API of both versions of its key-value store, as its documentation shows the answers.
const answers: Readonly<Record<string, unknown>> = {
  '/v1/secret/data/models': {
    lease_duration: 0,
    data: { data: { anthropic: 'sk-second' }, metadata: { version: 3 } },
  },
  '/v1/kv/models': { data: { anthropic: 'sk-first' } },
};
let server: Server;
let read: ReadVault;
let readAsStranger: ReadVault;

before(async () => {
  server = createServer((request, response) => {
    if (request.headers['x-vault-token'] !== 'hvs.good') return void response.writeHead(403).end('{}');
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { errors: [] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  read = createVaultReader({ address, token: secret('hvs.good') });
  readAsStranger = createVaultReader({ address, token: secret('hvs.bad') });
});
after(() => server.close());

test('a field of a secret is read from both versions of the store', async () => {
  assert.equal(await read('secret/data/models', 'anthropic'), 'sk-second');
  assert.equal(await read('kv/models', 'anthropic'), 'sk-first');
});

test('what is not there, and a token that may not, are named and never shown', async () => {
  await assert.rejects(read('secret/data/models', 'openai'), {
    code: 'configuration_invalid',
    message: /secret\/data\/models: the secret has no text called openai/,
  });
  await assert.rejects(read('secret/data/other', 'x'), { message: /secret\/data\/other: it answered 404/ });
  await assert.rejects(readAsStranger('kv/models', 'anthropic'), (error: Error) => {
    assert.match(error.message, /403\. Check VAULT_ADDR, VAULT_TOKEN/);
    assert.doesNotMatch(JSON.stringify(error) + error.message, /hvs/);
    return true;
  });
});
