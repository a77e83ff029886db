import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { whileHeld } from './open-egress.ts';

const silent = (): Duplex =>
  new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });

test('the way out closes with the lease, for connections that are open too, and opens again with it', async (t) => {
  const closing = new AbortController();
  t.after(() => closing.abort());
  let valid = true;
  const served: Duplex[] = [];
  const take = whileHeld(
    { valid: () => valid },
    (connection) => void served.push(connection),
    closing.signal,
  );
  const first = silent();
  take(first);
  assert.deepEqual(served, [first]);
  valid = false;
  await once(first, 'close');
  const second = silent();
  take(second);
  assert.ok(second.destroyed);
  assert.equal(served.length, 1, 'nobody has seen it');
  valid = true;
  const third = silent();
  take(third);
  assert.deepEqual(served, [first, third]);
  assert.equal(third.destroyed, false);
  third.destroy();
});
