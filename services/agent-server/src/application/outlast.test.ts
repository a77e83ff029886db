import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { outlast } from './outlast.ts';

const away = new CodedError('storage_failed', 'away', { mayPass: true });
const never = new AbortController().signal;

test('what may pass is tried until it has passed', async () => {
  let tries = 0;
  const work = () => (tries++ < 2 ? Promise.reject(away) : Promise.resolve('there'));
  assert.equal(await outlast(work, { signal: never, patienceMs: 60_000 }), 'there');
  assert.equal(tries, 3);
});

test('what cannot pass is thrown at once, and the last failure when patience ends', async () => {
  for (const error of [
    new CodedError('storage_failed', 'refused', { mayPass: false }),
    new CodedError('digest_mismatch', 'other bytes'),
    new TypeError('a fault of ours'),
  ]) {
    let tries = 0;
    const work = () => ((tries += 1), Promise.reject(error));
    await assert.rejects(outlast(work, { signal: never, patienceMs: 60_000 }), error);
    assert.equal(tries, 1);
  }
  await assert.rejects(
    outlast(() => Promise.reject(away), { signal: never, patienceMs: 1 }),
    away,
  );
});

test('a session that ends ends the wait, with its own reason', async () => {
  const session = new AbortController();
  const reason = new CodedError('attempt_stale', 'ended');
  const waiting = outlast(
    () => {
      queueMicrotask(() => session.abort(reason));
      return Promise.reject(away);
    },
    { signal: session.signal, patienceMs: 60_000 },
  );
  await assert.rejects(waiting, reason);
});
