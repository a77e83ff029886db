import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseConfiguredServers } from './configured-server.ts';

describe('AGENT_SERVERS', () => {
  test('reads addresses with pool and capacity', () => {
    assert.deepEqual(parseConfiguredServers(' https://a:1 ,https://b:2;pool=gpu;capacity=4,'), {
      servers: [
        { url: 'https://a:1', pool: 'default', capacity: null },
        { url: 'https://b:2', pool: 'gpu', capacity: 4 },
      ],
    });
    assert.deepEqual(parseConfiguredServers(''), { servers: [] });
  });

  test('an entry that cannot be read is named, never guessed', () => {
    for (const text of [
      'http://a:1',
      'a:1',
      'https://a:1;capacity=0',
      'https://a:1;capacity=four',
      'https://a:1;pool=pinned',
      'https://a:1;pool=',
      'https://a:1;colour=red',
      'https://a:1,https://a:1',
    ]) {
      const parsed = parseConfiguredServers(text);
      assert.ok('fault' in parsed && parsed.fault.length > 10, text);
    }
  });
});
