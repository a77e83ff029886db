import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { joinFleet } from './join-fleet.ts';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
let sent = 0;
const server = createServer((_request, response) => {
  response.writeHead(502, { 'content-type': 'application/json' });
  const write = (): void => {
    sent += 65_536;
    response.write(' '.repeat(65_536));
  };
  response.on('drain', write);
  write();
});
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lemniscate-join-'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('an address that answers without an end is left at a bound, and nothing is written', async () => {
  const { port } = server.address() as AddressInfo;
  const files = { ca: join(folder, 'ca.pem'), cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const plan = {
    url: `http://127.0.0.1:${port}`,
    token: secret('lmj_token'),
    address: 'https://a.example',
    capacity: 1,
  };
  await assert.rejects(joinFleet(plan, files, silent), { message: /502 without a problem document/ });
  // What the sockets hold beside what was read; without a bound it was what comes in fifteen seconds.
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
  assert.equal(existsSync(files.cert), false);
});
