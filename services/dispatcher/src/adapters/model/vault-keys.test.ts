import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
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
let sent = 0;
/** What a wrong address, or one that somebody has taken over, may answer with 200. */
const hostile: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/v1/endless': (response) => {
    const write = (): void => {
      sent += 65_536;
      response.write('x'.repeat(65_536));
    };
    response.on('drain', write);
    response.write('{"data":{"anthropic":"sk-');
    write();
  },
  '/v1/page': (response) => void response.end('<html>sk-shown</html>'),
};
let server: Server;
let read: ReadVault;
let readAsStranger: ReadVault;

before(async () => {
  server = createServer((request, response) => {
    if (request.headers['x-vault-token'] !== 'hvs.good') return void response.writeHead(403).end('{}');
    const garbage = hostile[request.url ?? ''];
    if (garbage !== undefined) return garbage(response);
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
after(() => {
  server.closeAllConnections();
  server.close();
});

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

test('an answer without an end is left at its bound, and one that is no JSON is refused, unread by anybody', async () => {
  await assert.rejects(read('endless', 'anthropic'), {
    code: 'configuration_invalid',
    message: /Vault does not give endless: its answer could not be read whole, of 262144 bytes at most/,
  });
  // What the sockets hold beside what was read; without a bound it was what comes in ten seconds.
  assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes were sent`);
  await assert.rejects(read('page', 'anthropic'), (error: Error) => {
    assert.match(error.message, /its answer is not JSON/);
    assert.doesNotMatch(JSON.stringify(error) + error.message, /sk-/);
    return true;
  });
});
