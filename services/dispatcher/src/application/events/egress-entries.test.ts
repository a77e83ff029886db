import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { egressEntries } from './egress-entries.ts';

const claim = { sessionId: 's_1', attempt: 1, serverId: 'one' } as Parameters<typeof egressEntries>[0];
const refused = (host: string, why: string) => {
  const event = serverEventSchema.parse({ type: 'egress', host, port: 443, outcome: 'refused', why });
  return egressEntries(claim, [event])[0]?.body;
};

test('a refusal has a code of ours, whatever the server says', () => {
  assert.deepEqual(refused('a.example.org', 'not_listed'), {
    host: 'a.example.org',
    port: 443,
    reason: 'not_listed',
  });
  assert.equal(refused('a.example.org', 'PLANTED words of a server')?.['reason'], 'other');
});

test('what the sandbox wrote where a host belongs is told when it is one', () => {
  for (const host of ['npm.example.org', 'localhost', '10.0.0.1', '_dns.example.org', 'fd00::1'])
    assert.equal(refused(host, 'not_listed')?.['host'], host);
  for (const host of [
    '',
    'const=PLANTED;',
    'PLANTED/../x',
    `${'a'.repeat(64)}.org`,
    'ä.example.org',
    '-a.org',
    'a..b',
  ])
    assert.equal(refused(host, 'not_listed')?.['host'], 'unreadable', host);
});
