import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { importBundle } from './import-bundle.ts';

// A store that begins to answer and says no more.
const server = createServer((_request, response) => void response.writeHead(200).write('# v2 git bundle\n'));
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lemniscate-bundle-'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test(
  'a bundle that does not come to its end in the time of the import is left',
  { timeout: 60_000 },
  async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bundle`;
    const mirror = { folder, gitDir: join(folder, 'git') } as Parameters<typeof importBundle>[2];
    const bundle = {
      kind: 'bundle',
      name: 'repo',
      url,
      sha256: '0'.repeat(64),
      commit: '0'.repeat(40),
    } as const;
    await assert.rejects(
      importBundle(() => Promise.reject(new Error('git has nothing to read')), bundle, mirror, {
        user: { uid: 1, gid: 1 },
        maxBytes: 1_000_000,
        timeoutMs: 200,
        signal: new AbortController().signal,
      }),
      { code: 'storage_failed', message: /timeout/ },
    );
  },
);
