import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { inBatches, sharedCall } from './in-batches.ts';

/** Work whose batches end when the test says so. */
function heldWork() {
  const begun: { readonly items: readonly number[]; readonly end: (error?: Error) => void }[] = [];
  const work = (items: readonly number[]): Promise<readonly string[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    begun.push({
      items,
      end: (error) => (error === undefined ? resolve(items.map((item) => `did ${item}`)) : reject(error)),
    });
    return promise;
  };
  return { begun, work };
}

const turn = (): Promise<void> => new Promise((settle) => setImmediate(settle));

test('what comes in one turn goes together, and what comes meanwhile is the next batch', async () => {
  const { begun, work } = heldWork();
  const call = inBatches({ most: 10, lanes: 1 }, work);
  const first = [call(1), call(2)];
  await turn();
  const later = [call(3), call(4), call(5)];
  await turn();
  assert.deepEqual(
    begun.map(({ items }) => items),
    [[1, 2]],
  );
  begun[0]?.end();
  assert.deepEqual(await Promise.all(first), ['did 1', 'did 2']);
  await turn();
  begun[1]?.end();
  assert.deepEqual(await Promise.all(later), ['did 3', 'did 4', 'did 5']);
});

test('a batch is never larger than its bound, and lanes go side by side', async () => {
  const { begun, work } = heldWork();
  const call = inBatches({ most: 2, lanes: 2 }, work);
  const calls = [1, 2, 3, 4, 5].map(call);
  await turn();
  assert.deepEqual(
    begun.map(({ items }) => items),
    [
      [1, 2],
      [3, 4],
    ],
  );
  begun[1]?.end();
  await calls[3];
  await turn();
  assert.deepEqual(begun[2]?.items, [5]);
  begun[0]?.end();
  begun[2]?.end();
  assert.equal((await Promise.all(calls)).length, 5);
});

test('what a batch throws, its items get and no others', async () => {
  const { begun, work } = heldWork();
  const call = inBatches({ most: 2, lanes: 1 }, work);
  const calls = [call(1), call(2), call(3)];
  await turn();
  begun[0]?.end(new Error('no disk'));
  await assert.rejects(calls[0] ?? Promise.resolve(), /no disk/);
  await assert.rejects(calls[1] ?? Promise.resolve(), /no disk/);
  await turn();
  begun[1]?.end();
  assert.equal(await calls[2], 'did 3');
});

test('results that do not fit their items are refused', async () => {
  const call = inBatches({ most: 2, lanes: 1 }, () => Promise.resolve([]));
  await assert.rejects(call(1), /batch of 1 was answered with 0/);
});

test('a shared call begins after everybody who gets its answer has asked', async () => {
  let value = 1;
  const asked: string[] = [];
  const call = sharedCall(async (key: string) => {
    asked.push(key);
    const seen = value;
    await turn();
    if (key === 'broken') throw new Error('no such thing');
    return seen;
  });
  const [first, twin, broken] = [call('a'), call('a'), call('broken')];
  await turn();
  value = 2;
  const later = call('a');
  await assert.rejects(broken, /no such thing/);
  assert.deepEqual(await Promise.all([first, twin, later]), [1, 1, 2]);
  assert.deepEqual(asked, ['a', 'broken', 'a']);
});

test('with patience a further lane is used only beside a batch that takes long', async (context) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  const { begun, work } = heldWork();
  const call = inBatches({ most: 10, lanes: 2, patienceMs: 20 }, work);
  const batches = () => begun.map(({ items }) => items);
  const calls = [call(1)];
  await turn();
  calls.push(call(2), call(3));
  await turn();
  assert.deepEqual(batches(), [[1]]);
  mock.timers.tick(20);
  assert.deepEqual(batches(), [[1], [2, 3]]);
  // Two are under way: a third has no lane, however long they take.
  calls.push(call(4));
  mock.timers.tick(20);
  await turn();
  assert.deepEqual(batches(), [[1], [2, 3]]);
  begun[0]?.end();
  begun[1]?.end();
  await Promise.all(calls.slice(0, 3));
  calls.push(call(5));
  await turn();
  // The slow ones are gone, and patience begins anew.
  assert.deepEqual(batches(), [[1], [2, 3], [4]]);
  begun[2]?.end();
  await calls[3];
  assert.deepEqual(batches(), [[1], [2, 3], [4], [5]]);
  begun[3]?.end();
  assert.deepEqual(await Promise.all(calls), ['did 1', 'did 2', 'did 3', 'did 4', 'did 5']);
});
