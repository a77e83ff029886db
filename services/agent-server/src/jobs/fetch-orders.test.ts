import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LineAnswer, LineRequest } from '@lemniscate/shared/protocol/server-line.ts';
import { createOrderFetcher } from './fetch-orders.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A dispatcher that has these to say, one answer a turn, and then nothing until the server hangs up. */
function startFetcher(turns: readonly (readonly LineRequest[] | Error)[], desk: object) {
  const answers: LineAnswer[] = [];
  const left = [...turns];
  const emptied = Promise.withResolvers<void>();
  const fetcher = createOrderFetcher({
    dispatcher: {
      nextRequests: (_waitMs, signal) => {
        const turn = left.shift();
        if (turn instanceof Error) return Promise.reject(turn);
        if (turn !== undefined) return Promise.resolve(turn);
        emptied.resolve();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
      answerRequest: (answer) => {
        answers.push(answer);
        return Promise.resolve();
      },
    },
    desk: desk as never,
    log,
  });
  fetcher.start();
  return { fetcher, answers, emptied: emptied.promise };
}

const remove = (id: string): LineRequest => ({ kind: 'remove', id, sessionId: 's_1', attempt: 1 });

test('each request is carried out and answered, in order', async () => {
  const done: unknown[] = [];
  const command = { sessionId: 's_1', attempt: 1, kind: 'pause', reason: 'move' } as const;
  const { fetcher, answers, emptied } = startFetcher(
    [[remove('a')], [], [{ kind: 'command', id: 'b', command }, remove('c')]],
    { remove: (held: object) => done.push(held), command: (told: object) => done.push(told) },
  );
  await emptied;
  await fetcher.stop();
  assert.deepEqual(
    answers.map(({ id, status }) => [id, status]),
    [
      ['a', 202],
      ['b', 202],
      ['c', 202],
    ],
  );
  assert.deepEqual(done, [{ sessionId: 's_1', attempt: 1 }, command, { sessionId: 's_1', attempt: 1 }]);
});

test('a refusal goes back with its status and problem', async () => {
  const refuse = (): never => {
    throw new CodedError('server_full', 'There is no slot.');
  };
  const { fetcher, answers, emptied } = startFetcher([[remove('a')]], { remove: refuse });
  await emptied;
  await fetcher.stop();
  assert.deepEqual([answers[0]?.status, answers[0]?.problem?.['code']], [429, 'server_full']);
});

test('a dispatcher that is away is asked again', async () => {
  const away = new CodedError('service_unreachable', 'away');
  const { fetcher, answers, emptied } = startFetcher([away, [remove('a')]], { remove: () => undefined });
  await emptied;
  await fetcher.stop();
  assert.equal(answers.length, 1);
});
