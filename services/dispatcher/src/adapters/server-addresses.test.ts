import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rememberAddresses } from './server-addresses.ts';

function lookUp(answers: (string | null | Error)[]) {
  let nowMs = 0;
  const asked: string[] = [];
  const addressOf = rememberAddresses(
    async (serverId) => {
      asked.push(serverId);
      const answer = answers.shift() ?? null;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    { monotonicMs: () => nowMs },
  );
  return { addressOf, asked, pass: (ms: number) => (nowMs += ms) };
}

test('an address is read once for a second, for each server', async () => {
  const { addressOf, asked, pass } = lookUp(['https://a:1', 'https://b:1', 'https://a:2']);
  assert.deepEqual(await Promise.all([addressOf('a'), addressOf('a')]), ['https://a:1', 'https://a:1']);
  assert.equal(await addressOf('b'), 'https://b:1');
  pass(1_000);
  assert.equal(await addressOf('a'), 'https://a:2');
  assert.deepEqual(asked, ['a', 'b', 'a']);
});

test('a server that nobody knows yet, and a look that failed, are looked for again', async () => {
  const { addressOf } = lookUp([null, new Error('away'), 'https://a:1']);
  assert.equal(await addressOf('a'), null);
  await assert.rejects(addressOf('a'), /away/);
  assert.equal(await addressOf('a'), 'https://a:1');
});
