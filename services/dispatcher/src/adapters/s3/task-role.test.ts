import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createObjectStore } from './object-store.ts';

test('without keys the store is reached as the task’s role, as a container on AWS is told it', async (t) => {
  const asked: (string | undefined)[] = [];
  const role = createServer((request, response) => {
    asked.push(request.url);
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        AccessKeyId: 'ASIAROLE',
        SecretAccessKey: 'of-the-role',
        Token: 'a-token',
        Expiration,
      }),
    );
  });
  role.listen(0, '127.0.0.1');
  await once(role, 'listening');
  t.after(() => role.close());
  const { port } = role.address() as AddressInfo;
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = `http://127.0.0.1:${port}/role`;

  const store = createObjectStore({
    endpoint: 'http://127.0.0.1:9',
    bucket: 'b',
    region: 'us-east-1',
    encryption: 'bucket',
  });
  t.after(() => store.close());
  const address = new URL(await store.presignGet('p/x', 600));
  assert.match(address.searchParams.get('X-Amz-Credential') ?? '', /^ASIAROLE\//);
  assert.equal(address.searchParams.get('X-Amz-Security-Token'), 'a-token');
  assert.deepEqual(asked, ['/role']);
});
