import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProviders, servesModel } from './provider-file.ts';

const sources = {
  environment: { GOOD_KEY: 'sk-1' },
  readText: (path: string) => Promise.resolve(path === '/run/key' ? 'sk-2\n' : ''),
  readVault: (path: string, field: string) => Promise.resolve(`${path}/${field}`),
};
const file = (more: string): string =>
  `providers:\n- name: house\n  api: openai\n  baseUrl: http://10.0.0.7:8000\n  models: [llama-70b, "qwen-*"]\n${more}`;

test('a compatible server with keys from three places', async () => {
  const [house] = await readProviders(
    file('  keys: [env:GOOD_KEY, file:/run/key, vault:secret/data/models#house]\n'),
    sources,
  );
  assert.deepEqual(
    house?.keys.map((key) => key.reveal()),
    ['sk-1', 'sk-2', 'secret/data/models/house'],
  );
  assert.equal(JSON.stringify(house).includes('sk-1'), false);
  assert.equal(servesModel(house?.models ?? [], 'qwen-3-coder'), true);
  assert.equal(servesModel(house?.models ?? [], 'llama-70b-instruct'), false);
});

test('a key in a Vault is refused where none is named', async () => {
  const text = file('  keys: [vault:kv/models#house]\n');
  await assert.rejects(readProviders(text, { ...sources, readVault: null }), {
    code: 'configuration_invalid',
    message: /vault:kv\/models#house.*Set VAULT_ADDR and VAULT_TOKEN/,
  });
});

for (const [fault, text, told] of [
  ['a key in the file itself', file('  keys: [sk-123]\n'), /env:NAME, file:\/path or vault:path#field/],
  ['a key that is not set', file('  keys: [env:MISSING]\n'), /env:MISSING of house is empty/],
  ['an unknown member', file('  key: env:GOOD_KEY\n'), /key/],
  ['another address than http', file('').replace('http://10.0.0.7:8000', 'ftp://x'), /baseUrl/],
  ['the built-in name', file('').replace('house', 'scripted'), /built in/],
  ['one name twice', `${file('')}${file('').replace('providers:\n', '')}`, /Two providers are called house/],
] as const)
  test(`${fault} is refused`, async () => {
    await assert.rejects(readProviders(text, sources), { code: 'configuration_invalid', message: told });
  });
