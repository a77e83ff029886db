import { once } from 'node:events';
import { Socket } from 'node:net';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import type { TestOutcome } from './test-outcome.ts';

/** The descriptor that outcomes go to; what tests print on the usual ones must not be taken for them. */
const outcomeDescriptor = 3;

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
  for await (const event of source) {
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
