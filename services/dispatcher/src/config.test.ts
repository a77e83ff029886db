import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { announcedBounds, readDispatcherConfig } from './config.ts';
import { isLoopback } from './domain/loopback.ts';

const needed = {
  DATABASE_URL: 'postgres://u:hush@db:5432/l',
  REDIS_URL: 'redis://cache:6379',
  S3_ENDPOINT: 'http://s3:9000',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'hush-key',
  LEMNISCATE_TLS_CA: '/ca.pem',
  LEMNISCATE_TLS_CERT: '/cert.pem',
  LEMNISCATE_TLS_KEY: '/key.pem',
};

describe('the dispatcher’s variables', () => {
  test('have the agreed defaults', () => {
    const config = readDispatcherConfig(needed);
    assert.equal(config.LEMNISCATE_PORT, 7420);
    assert.equal(config.LEMNISCATE_LEASE_MS, 15_000);
    assert.deepEqual(config.AGENT_SERVERS, []);
    assert.deepEqual(announcedBounds(config), []);
  });

  test('an unreadable one is refused by name, and no secret is in the sentence', () => {
    const wrong = {
      LEMNISCATE_PORT: '70000',
      LEMNISCATE_LEASE_MS: '1e3',
      LEMNISCATE_MAX_LOSSES: 'two',
      LEMNISCATE_EXIT_WITH_PARENT: 'yes',
      REDIS_URL: 'http://x',
      AGENT_SERVERS: 'https://a:1;pool=Big Pool',
      LEMNISCATE_SESSION_MAX_ACTIONS: '0',
      LEMNISCATE_SESSION_MAX_EXTENSIONS: '-1',
      LEMNISCATE_SESSION_MAX_COST_USD: 'much',
      LEMNISCATE_COMMAND_MAX_SECONDS: '10m',
      LEMNISCATE_COMMAND_MAX_OUTPUT_BYTES: '10MiB',
    };
    for (const [name, value] of Object.entries(wrong))
      assert.throws(
        () => readDispatcherConfig({ ...needed, [name]: value }),
        (error) =>
          isCodedError(error, 'configuration_invalid') &&
          error.message.includes(name) &&
          !error.message.includes('hush'),
        name,
      );
  });

  test('the object store’s key is given whole, or not at all', () => {
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, ...others } = needed;
    assert.equal(readDispatcherConfig(others).AWS_ACCESS_KEY_ID, undefined);
    for (const half of [{ AWS_ACCESS_KEY_ID: id }, { AWS_SECRET_ACCESS_KEY: secret }])
      assert.throws(() => readDispatcherConfig({ ...others, ...half }), { code: 'configuration_invalid' });
  });

  test('proxies are named by address or network, and nothing else is taken for one', () => {
    const read = (proxies: string) =>
      readDispatcherConfig({ ...needed, LEMNISCATE_TRUSTED_PROXIES: proxies }).LEMNISCATE_TRUSTED_PROXIES;
    assert.deepEqual(read(''), []);
    assert.deepEqual(read('10.0.0.0/16, 192.0.2.7,2001:db8::/32'), [
      '10.0.0.0/16',
      '192.0.2.7',
      '2001:db8::/32',
    ]);
    for (const wrong of ['true', '10.0.0.0/33', '10.0.0/8', 'proxy.example.org', '10.0.0.0/8/8', '::/129'])
      assert.throws(() => read(wrong), /LEMNISCATE_TRUSTED_PROXIES: must be addresses or networks/, wrong);
  });

  test('the local login stays on loopback', () => {
    assert.throws(
      () =>
        readDispatcherConfig({ ...needed, LEMNISCATE_LOCAL_LOGIN: '/l.json', LEMNISCATE_HOST: '10.0.0.5' }),
      /LEMNISCATE_LOCAL_LOGIN/,
    );
    for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '::1']) assert.ok(isLoopback(host), host);
    for (const host of ['0.0.0.0', '::', '128.0.0.1', '127.0.0.1.example.org', ''])
      assert.ok(!isLoopback(host), host);
  });

  test('a bound that somebody moved is announced', () => {
    const config = readDispatcherConfig({
      ...needed,
      LEMNISCATE_SESSION_MAX_MINUTES: '90',
      LEMNISCATE_SESSION_MAX_COST_USD: '2.50',
    });
    assert.deepEqual(announcedBounds(config), [
      { name: 'LEMNISCATE_SESSION_MAX_MINUTES', value: 90, usual: 45 },
      { name: 'LEMNISCATE_SESSION_MAX_COST_USD', value: '2.50', usual: '100' },
    ]);
  });

  test('secrets redact themselves', () => {
    const text = JSON.stringify(readDispatcherConfig({ ...needed, ANTHROPIC_API_KEY: 'hush-hush' }));
    assert.ok(!text.includes('hush-key') && !text.includes('hush-hush'));
  });
});
