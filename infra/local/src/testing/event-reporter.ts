import type { TestEvent as NodeTestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import type { TestEvent } from './test-event.ts';

/**
 * Reporter for `node --test`: one JSON text a line (`TestEvent`). A default export, because the runner's
 * `--test-reporter` asks for one.
 * @public
 */
// oxlint-disable-next-line import/no-default-export
export default async function* report(source: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const names = new Map<string, string[]>();
  for await (const event of source) {
    const told = tell(event, names);
    if (told !== undefined) yield `${JSON.stringify(told)}\n`;
  }
}

/** `names` holds, per file, the suites and tests that are being run, outermost first. */
function tell(event: NodeTestEvent, names: Map<string, string[]>): TestEvent | undefined {
  if (event.type === 'test:start') {
    const path = names.get(event.data.file ?? '') ?? [];
    names.set(event.data.file ?? '', [...path.slice(0, event.data.nesting), event.data.name]);
    return undefined;
  }
  if (event.type === 'test:stdout' || event.type === 'test:stderr')
    return { kind: 'output', file: event.data.file, text: event.data.message };
  if (event.type === 'test:summary') {
    const { file, counts, duration_ms: durationMs } = event.data;
    if (file === undefined) return undefined;
    return {
      kind: 'file',
      file,
      passed: counts.passed,
      failed: counts.tests - counts.passed - counts.skipped,
      durationMs,
    };
  }
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
  return tellTest(event, names.get(event.data.file ?? '') ?? []);
}

type Finished = Extract<NodeTestEvent, { type: 'test:pass' | 'test:fail' }>;

function tellTest(event: Finished, names: readonly string[]): TestEvent | undefined {
  const { data } = event;
  const isSuite = data.details.type === 'suite';
  const path = [...names.slice(0, data.nesting), data.name];
  const common = { kind: 'test', path, file: data.file, durationMs: data.details.duration_ms } as const;
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
