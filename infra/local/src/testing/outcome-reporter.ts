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
  /** Per file, the suites and tests that are being run, outermost first. */
  const running = new Map<string, string[]>();
  const socket = new Socket({ fd: outcomeDescriptor, readable: false });
  for await (const event of source) {
    if (event.type === 'test:start') {
      const { file = '', nesting, name } = event.data;
      running.set(file, [...(running.get(file) ?? []).slice(0, nesting), name]);
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const told = tellOutcome(event, running.get(event.data.file ?? '') ?? []);
    if (told !== undefined && !socket.write(`${JSON.stringify(told)}\n`)) await once(socket, 'drain');
  }
  socket.end();
  await once(socket, 'close');
  yield '';
}

type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function tellOutcome(event: Finished, running: readonly string[]): TestOutcome | undefined {
  const { data } = event;
  const isSuite = data.details.type === 'suite';
  const path = [...running.slice(0, data.nesting), data.name];
  const common = { path, file: data.file, durationMs: data.details.duration_ms };
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
