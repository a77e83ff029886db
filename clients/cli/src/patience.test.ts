import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { patiently } from './patience.ts';

const signal = new AbortController().signal;
const away = () => new CodedError('service_unreachable', 'No answer.');

test('it is tried again while the fleet is away, and said once', async () => {
  let tries = 0;
  const told: unknown[] = [];
  const done = await patiently(
    () => {
      tries += 1;
      return tries < 3 ? Promise.reject(away()) : Promise.resolve('taken');
    },
    { signal, onAway: (error) => told.push(error) },
  );
  assert.deepEqual(done, { result: 'taken', failures: 2 });
  assert.equal(told.length, 1);
});

test('what the fleet refuses is refused at once', async () => {
  for (const code of ['conflict', 'forbidden', 'internal'] as const) {
    let tries = 0;
    const refused = patiently(
      () => {
        tries += 1;
        return Promise.reject(new CodedError(code, 'No.'));
      },
      { signal, onAway: () => assert.fail('it is not away') },
    );
    await assert.rejects(refused, { code });
    assert.equal(tries, 1);
  }
});

test('a fleet that stays away is given up, and so is a person’s Ctrl-C', async () => {
  const options = { signal, onAway: () => undefined, forMs: 0 };
  await assert.rejects(
    patiently(() => Promise.reject(away()), options),
    { code: 'service_unreachable' },
  );
  const stop = new AbortController();
  const waiting = patiently(() => Promise.reject(away()), {
    signal: stop.signal,
    onAway: () => stop.abort(),
  });
  await assert.rejects(waiting, { name: 'AbortError' });
});
