import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from './config.ts';

const complete = {
  LEMNISCATE_SERVER_PORT: '0',
  LEMNISCATE_DISPATCHER_URL: 'https://127.0.0.1:7421',
  LEMNISCATE_TLS_CA: 'ca',
  LEMNISCATE_TLS_CERT: 'cert',
  LEMNISCATE_TLS_KEY: 'key',
  LEMNISCATE_STATE_FOLDER: '/state',
};

test('what is absent has its default', () => {
  const config = readConfig(complete);
  assert.deepEqual(
    [config.host, config.capacity, config.warm, config.driver, config.allowLocalPaths, config.waivedLimits],
    ['127.0.0.1', 2, 1, 'auto', false, []],
  );
});

test('what cannot be read is refused by name, and all of it at once', () => {
  const broken = {
    ...complete,
    LEMNISCATE_CAPACITY: 'many',
    LEMNISCATE_SANDBOX_DRIVER: 'chroot',
    LEMNISCATE_WAIVE_LIMITS: 'disk,everything',
    LEMNISCATE_DISPATCHER_URL: 'http://x',
  };
  assert.throws(
    () => readConfig(broken),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'configuration_invalid');
      for (const name of [
        'LEMNISCATE_CAPACITY',
        'LEMNISCATE_SANDBOX_DRIVER',
        'LEMNISCATE_DISPATCHER_URL',
        'LEMNISCATE_WAIVE_LIMITS',
      ])
        assert.match(error.message, new RegExp(name));
      return true;
    },
  );
  assert.throws(() => readConfig({}), /LEMNISCATE_STATE_FOLDER/);
});
