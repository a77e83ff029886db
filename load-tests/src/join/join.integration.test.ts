import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { joinFleet } from '@lemniscate/agent-server/adapters/join-fleet.ts';
import { readTlsMaterial } from '@lemniscate/agent-server/adapters/tls-material.ts';
import { createTestFleet } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';

const projectRoot = join(import.meta.dirname, '../../..');
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
let fleet: TestFleet;
let dispatcher: TestDispatcher;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lemniscate-join-'));
  fleet = await createTestFleet({ servers: [] });
  dispatcher = await fleet.startDispatcher();
});
after(async () => {
  await fleet.remove();
  rmSync(folder, { recursive: true, force: true });
});

const url = (): string => `http://127.0.0.1:${dispatcher.publicPort}`;

/** The command line as an operator has it; the new server has no login. */
async function lemniscate(isOperator: boolean, ...args: string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const login = { LEMNISCATE_URL: url(), LEMNISCATE_TOKEN: fleet.token };
  const env = { ...inherited, HOME: folder, LEMNISCATE_DATA: folder, ...(isOperator ? login : {}) };
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { env });
  return stdout;
}

test('a server joins by the command line: its key first, then a token for it', async () => {
  const to = join(folder, 'by-hand');
  const asked = await lemniscate(false, 'servers', 'join', '--to', to, '--capacity', '3');
  const publicFile = asked.split('\n')[0] ?? '';
  assert.match(asked, /servers invite --key/);
  assert.equal(statSync(join(to, 'key.pem')).mode & 0o777, 0o600);
  const token = (await lemniscate(true, 'servers', 'invite', '--key', publicFile, '--capacity', '3')).trim();
  assert.match(token, /^lmj_/);
  const where = ['--fleet', url(), '--address', 'https://127.0.0.1:19443'];
  const joined = await lemniscate(
    false,
    'servers',
    'join',
    '--to',
    to,
    '--capacity',
    '3',
    ...where,
    '--token',
    token,
  );
  const name = /Joined as (srv-\S+)\./.exec(joined)?.[1];
  assert.match(joined, /LEMNISCATE_DISPATCHER_URL=https:/);
  const material = readTlsMaterial(
    { ca: join(to, 'ca.pem'), cert: join(to, 'certificate.pem'), key: join(to, 'key.pem') },
    new Date(),
  );
  assert.equal(material.name, name);
  await assert.rejects(
    lemniscate(false, 'servers', 'join', '--to', to, ...where, '--token', token),
    /join token/,
    'the token is used',
  );
});

test('a server joins by itself at its first start, and has nothing to do at the second', async () => {
  const files = {
    ca: join(folder, 'own-ca.pem'),
    cert: join(folder, 'own-certificate.pem'),
    key: join(folder, 'own-key.pem'),
  };
  const plan = { url: url(), address: 'https://127.0.0.1:19444', capacity: 2 };
  await assert.rejects(
    joinFleet({ ...plan, token: undefined }, files, silent),
    /servers invite --key .*own-key\.pem\.pub/,
  );
  const { body } = await dispatcher.call<{ token: string }>('POST', '/v1/server-invitations', {
    pool: 'default',
    capacity: 2,
    publicKeyPem: readFileSync(`${files.key}.pub`, 'utf8'),
  });
  await assert.rejects(joinFleet({ ...plan, token: secret('lmj_guess') }, files, silent), {
    code: 'unauthenticated',
  });
  await joinFleet({ ...plan, token: secret(body.token) }, files, silent);
  const { name } = readTlsMaterial(files, new Date());
  assert.match(name, /^srv-/);
  await joinFleet({ ...plan, token: secret('used up') }, files, silent);
  const [row] = await fleet.sql<{ clamp: number }>('SELECT clamp FROM agent_servers WHERE id = $1', [name]);
  assert.equal(row?.clamp, 1, 'a newcomer has one slot until it is proved');
});
