import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTicket, ticketOf, writeTicket } from './streams.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const ticket = { key: 'a-key', requestId: 7, progressToken: null, askedAt: now - 60_000 };

test('an event id says what call it belongs to, and nothing else is one', () => {
  assert.deepEqual(readTicket(writeTicket(ticket, 3), now), ticket);
  for (const other of ['', 'abc', '.1', `${writeTicket(ticket, 1)}x`, `${'A'.repeat(3_000)}.1`, 'bnVsbA.1'])
    assert.equal(readTicket(other, now), null, other.slice(0, 20));
});

test('a call from the future, as a client could write it, is not waited for longer than one from now', () => {
  for (const askedAt of [now + 1, now + 3_600_000, Number.MAX_SAFE_INTEGER])
    assert.equal(readTicket(writeTicket({ ...ticket, askedAt }, 1), now)?.askedAt, now);
});

test('only a call that opens a session has a ticket', () => {
  const call = (name: string, more: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, ...more },
  });
  const given = { arguments: { idempotency_key: 'mine' }, _meta: { progressToken: 'p' } };
  assert.deepEqual(
    ticketOf(call('create_session', given), () => 'new', now),
    {
      key: 'mine',
      requestId: 1,
      progressToken: 'p',
      askedAt: now,
    },
  );
  assert.equal(ticketOf(call('create_session'), () => 'new', now)?.key, 'new');
  assert.equal(
    ticketOf(call('get_session'), () => 'new', now),
    null,
  );
});
