import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisAddress } from './address.ts';

test('an address is a server, or sentinels that know one', () => {
  assert.deepEqual(redisAddress(new URL('redis://:p%40ss@cache:6380/2')), {
    host: 'cache',
    port: 6380,
    password: 'p@ss',
    db: 2,
  });
  assert.deepEqual(redisAddress(new URL('rediss://cache')).tls, {});
  const { sentinelRetryStrategy, ...found } = redisAddress(
    new URL('redis://u:p@one:26379/0?sentinel=fleet&also=two:26379&also=three:26380'),
  );
  assert.equal(typeof sentinelRetryStrategy, 'function');
  assert.deepEqual(found, {
    sentinels: [
      { host: 'one', port: 26379 },
      { host: 'two', port: 26379 },
      { host: 'three', port: 26380 },
    ],
    name: 'fleet',
    username: 'u',
    password: 'p',
    db: 0,
  });
});
