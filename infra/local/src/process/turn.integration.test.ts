import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { inTurn } from './turn.ts';

test('work of one name is done one after the other, of two names side by side', async () => {
  let under = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    under += 1;
    most = Math.max(most, under);
    await new Promise(setImmediate);
    under -= 1;
  };
  const name = `turn-test-${process.pid}`;
  await Promise.all(Array.from({ length: 8 }, () => inTurn(name, work)));
  assert.equal(most, 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  await Promise.all([inTurn(`${name}-a`, () => promise), inTurn(`${name}-b`, async () => resolve())]);
});

test('work that throws gives the turn back', async () => {
  const name = `turn-test-throws-${process.pid}`;
  await assert.rejects(
    inTurn(name, () => Promise.reject(new Error('broken'))),
    /broken/,
  );
  assert.equal(await inTurn(name, () => Promise.resolve('again')), 'again');
});

test('a process that is killed in its turn leaves it to the next one', async () => {
  const name = `turn-test-killed-${process.pid}`;
  const holder = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { inTurn } from ${JSON.stringify(import.meta.resolve('./turn.ts'))};
       setInterval(() => undefined, 1_000);
       await inTurn(${JSON.stringify(name)}, () => { process.stdout.write('mine'); return new Promise(() => undefined); });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(holder.stdout, 'data');
  const next = inTurn(name, () => Promise.resolve('mine now'));
  holder.kill('SIGKILL');
  assert.equal(await next, 'mine now');
});
