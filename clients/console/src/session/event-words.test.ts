import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeEvent } from './event-words.ts';

test('what left the sandbox, was stored or handed on is told in words', () => {
  const connection = { type: 'egress', host: 'npm.example.org', port: 443 } as const;
  for (const [event, text] of [
    [{ ...connection, outcome: 'connected' }, 'Connected to npm.example.org:443'],
    [{ ...connection, outcome: 'refused', why: 'private' }, 'Not connected to npm.example.org:443: private'],
    [
      { ...connection, outcome: 'closed', sentBytes: 10, receivedBytes: 2048, durationMs: 1500 },
      'Closed npm.example.org:443: 10 B sent, 2.0 KiB received in 1.5 s',
    ],
    [{ type: 'checkpoint', number: 3, cause: 'interval', bytes: 1024 }, 'Checkpoint 3: 1.0 KiB'],
    [
      { type: 'compaction', turn: 4, messages: 12 },
      'The conversation was cut short: 12 messages became notes',
    ],
    [{ type: 'delegation', sessionId: 's_2', callId: 'c', state: 'reported' }, 'Sub-agent s_2: has reported'],
  ] as const)
    assert.equal(describeEvent(event, 1).text, text);
});

test('what somebody said is shown as their words, and is no way to hide anything', () => {
  const event = { type: 'message', number: 1, state: 'sent', text: 'a\u202eb' } as const;
  assert.deepEqual(describeEvent(event, 1), { icon: 'message', text: 'a\\u{202e}b', isSaid: true });
  const refused = { type: 'egress', host: 'a\u001b[2J', port: 1, outcome: 'refused' } as const;
  assert.doesNotMatch(describeEvent(refused, 1).text, /\u001b/);
});
