import { once } from 'node:events';
import { Socket } from 'node:net';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import type { TestOutcome } from './test-outcome.ts';

/** The descriptor that outcomes go to; what tests print on the usual ones must not be taken for them. */
const outcomeDescriptor = 3;

/** How long a process may take from its last test to its end, in milliseconds. */
export const lingerVariable = 'LEMNISCATE_TEST_LINGER_MS';

/**
 * Reporter for `node --test`: writes one JSON text a line (`TestOutcome`) to descriptor 3, a socket of the process
 * that started it, and reports nothing itself. A default export, because `--test-reporter` asks for one.
 * @public
 */
// oxlint-disable-next-line import/no-default-export
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  /** The suites and tests that are being reported, outermost first; Node starts them in order. */
  let running: Running[] = [];
  const socket = new Socket({ fd: outcomeDescriptor, readable: false });
  const linger = watchLingering((told) => socket.write(`${JSON.stringify(told)}\n`, () => process.exit(1)));
  for await (const event of source) {
    linger(event);
    if (event.type === 'test:start')
      running = [...running.slice(0, event.data.nesting), { name: event.data.name, file: event.data.file }];
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const told = tellOutcome(event, running);
    if (told !== undefined && !socket.write(`${JSON.stringify(told)}\n`)) await once(socket, 'drain');
  }
  socket.end();
  await once(socket, 'close');
  yield '';
}

/**
 * A process whose tests are over and that does not end has something open: a fleet that a failed `before` started, a
 * server. It says so and ends, long before the bound of the whole.
 * @param end tells it and ends the process
 */
function watchLingering(end: (told: TestOutcome) => void): (event: TestEvent) => void {
  const withinMs = Number(process.env[lingerVariable] ?? 120_000);
  const tickMs = Math.min(1_000, withinMs / 4);
  let unfinished = 0;
  let timer: NodeJS.Timeout | undefined;
  return ({ type, data }) => {
    if (data === undefined || !('nesting' in data) || data.nesting !== 0) return;
    if (type === 'test:enqueue') unfinished += 1;
    // an error of a file itself, of a hook of it, was never queued
    else if (type === 'test:pass' || type === 'test:fail') unfinished = Math.max(0, unfinished - 1);
    else return;
    clearInterval(timer);
    if (unfinished > 0) return;
    // counted by ticks: a hook that removes much at once holds the loop up, and the process ends right after it
    let waitedMs = 0;
    timer = setInterval(() => {
      waitedMs += tickMs;
      if (waitedMs < withinMs) return;
      clearInterval(timer);
      end({
        outcome: 'failed',
        path: [`the process did not end within ${withinMs / 1_000} s of its last test`],
        file: 'file' in data ? data.file : undefined,
        durationMs: waitedMs,
        error: `Something that a test or a hook started is still open: ${process.getActiveResourcesInfo().join(', ')}.`,
      });
    }, tickMs).unref();
  };
}

interface Running {
  readonly name: string;
  readonly file: string | undefined;
}
type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function tellOutcome(event: Finished, running: readonly Running[]): TestOutcome | undefined {
  const { data } = event;
  const isSuite = data.details.type === 'suite';
  const path = [...running.slice(0, data.nesting).map(({ name }) => name), data.name];
  // the outermost file is the one that was run: a contract's tests are written elsewhere
  const file = data.nesting === 0 ? data.file : running[0]?.file;
  const common = { path, file, durationMs: data.details.duration_ms };
  // a todo is a skip without an excuse
  const excuse = data.skip ?? (data.todo === undefined ? undefined : `todo: ${data.todo}`);
  if (excuse !== undefined && excuse !== false)
    return { ...common, outcome: 'skipped', reason: excuse === true ? '' : excuse };
  if (event.type === 'test:pass') return isSuite ? undefined : { ...common, outcome: 'passed' };
  // a suite fails with its tests; on its own account only by a hook or by its body
  const { error } = event.data.details;
  if (isSuite && 'failureType' in error && error.failureType === 'subtestsFailed') return undefined;
  const cause = error.cause instanceof Error ? error.cause : error;
  return { ...common, outcome: 'failed', error: inspect(cause, { depth: 6 }) };
}
