import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLease, leaseGiveUpMs } from './lease.ts';

test('a lease counts from when the renewal was sent, and an older answer never shortens a newer one', () => {
  let now = 0;
  const lease = createLease(() => now, 0, 15_000);
  now = 14_999;
  assert.equal(lease.valid(), true);
  now = 15_000;
  assert.equal(lease.valid(), false);
  // Sent at 10 s, answered at 20 s: five seconds are left of it.
  now = 20_000;
  lease.renew(10_000, 15_000);
  assert.equal(lease.valid(), true);
  lease.renew(5000, 15_000);
  now = 24_999;
  assert.equal(lease.valid(), true);
  now = 25_000;
  assert.equal(lease.valid(), false);
});

test('whoever needs it waits until it is renewed, or until the signal', async () => {
  let now = 0;
  const lease = createLease(() => now, 0, 1000);
  await lease.hold(new AbortController().signal);
  now = 2000;
  const waiting = lease.hold(new AbortController().signal);
  const stop = new AbortController();
  const stopped = lease.hold(stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(stopped, /stopped/);
  lease.renew(2000, 1000);
  await waiting;
});

test('ten minutes after its end it is lost', () => {
  let now = 0;
  const lease = createLease(() => now, 0, 1000);
  now = 1000 + leaseGiveUpMs;
  assert.equal(lease.lost(), false);
  now += 1;
  assert.equal(lease.lost(), true);
});

test('cut off is who has no lease and was not answered for as long as one; a dispatcher without its record answers', () => {
  let now = 0;
  const lease = createLease(() => now, 0, 1000);
  now = 999;
  assert.equal(lease.cutOff(), false);
  now = 1000;
  assert.equal(lease.cutOff(), true);
  lease.heard(900);
  assert.equal(lease.valid(), false);
  now = 1899;
  assert.equal(lease.cutOff(), false);
  now = 1900;
  assert.equal(lease.cutOff(), true);
  // An answer that comes late says nothing of what was asked since.
  lease.heard(500);
  assert.equal(lease.cutOff(), true);
  lease.renew(1900, 4000);
  now = 5899;
  assert.equal(lease.cutOff(), false);
  now = 5900;
  assert.equal(lease.cutOff(), true);
});
