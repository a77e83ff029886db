import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chooseMasterKey } from '../content-keys/master-key.ts';
import { createCredentialStore } from './credential-store.ts';

let record: TestRecord;
let folder: string;
before(async () => {
  record = await createTestRecord();
  folder = await mkdtemp(join(tmpdir(), 'lemniscate-keys-'));
});
after(async () => {
  await record.close();
  await rm(folder, { recursive: true, force: true });
});

async function storeWithNewKey(name: string) {
  const file = join(folder, name);
  await writeFile(file, randomBytes(32).toString('base64'));
  const aws = { keyId: undefined, region: 'us-east-1', endpoint: undefined, of: 'CREDENTIAL' } as const;
  return createCredentialStore(chooseMasterKey({ ...aws, file }));
}

const owner = { kind: 'mcp_server', id: 'tracker' } as const;
const value = 'the value of the credential';

test('a value opens under its own owner, name and master key alone', async () => {
  const { database } = record;
  const store = await storeWithNewKey('one');
  const earlier = await store.set(database, owner, 'TOKEN', 'an earlier value', 'ada');
  assert.ok((await store.set(database, owner, 'TOKEN', value, 'ada')) > earlier);
  assert.deepEqual(await store.open(database, owner, ['TOKEN']), { TOKEN: value });
  for (const change of [{ owner_id: 'other' }, { name: 'OTHER' }, { owner_kind: 'agent' }])
    await database.query(
      `INSERT INTO credentials SELECT (jsonb_populate_record(c, $1::jsonb)).* FROM credentials c
       WHERE owner_id = 'tracker' AND name = 'TOKEN' AND owner_kind = 'mcp_server'`,
      [JSON.stringify(change)],
    );
  const copies = [
    [{ ...owner, id: 'other' }, 'TOKEN'],
    [owner, 'OTHER'],
    [{ kind: 'agent', id: 'tracker' }, 'TOKEN'],
  ] as const;
  for (const [copied, name] of copies)
    await assert.rejects(store.open(database, copied, [name]), { code: 'storage_failed' });
  const stranger = await storeWithNewKey('two');
  await assert.rejects(stranger.open(database, owner, ['TOKEN']), { code: 'storage_failed' });
  const keyless = createCredentialStore(null);
  await assert.rejects(keyless.set(database, owner, 'TOKEN', value, 'ada'), {
    code: 'request_invalid',
    message: /LEMNISCATE_CREDENTIAL_KEY/,
  });
});

test('what is not set is named, what is removed is gone', async () => {
  const { database } = record;
  const store = await storeWithNewKey('three');
  await store.set(database, owner, 'KEPT', value, 'ada');
  await store.set(database, owner, 'GONE', value, 'ada');
  assert.equal(await store.remove(database, owner, 'GONE'), true);
  assert.equal(await store.remove(database, owner, 'GONE'), false);
  await assert.rejects(store.open(database, owner, ['KEPT', 'GONE', 'NEVER']), {
    code: 'credential_missing',
    message: /GONE, NEVER/,
  });
  assert.ok((await store.list(database, owner)).every((row) => !JSON.stringify(row).includes(value)));
});
