import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runInOrder, stagesFor, tellEnds } from './in-order.ts';
import type { Stage } from './in-order.ts';

// `npm run load [-- --from STAGE --chaos-minutes 10 --soak-minutes 60]`: all load tests in their order, about two and a half
// hours; ends with 1 when one did not go well. It writes the pages that each of them writes.

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    'chaos-minutes': { type: 'string', default: '10' },
    'soak-minutes': { type: 'string', default: '60' },
  },
});
const [chaosMinutes, soakMinutes] = [Number(values['chaos-minutes']), Number(values['soak-minutes'])];
const stages = stagesFor({ chaosMinutes, soakMinutes });
const first = values.from === undefined ? 0 : stages.findIndex(({ name }) => name === values.from);
const stopping = new AbortController();
let running: ReturnType<typeof spawn> | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopping.abort();
    running?.kill(signal);
  });

if (![chaosMinutes, soakMinutes].every((minutes) => minutes > 0)) {
  console.error('--chaos-minutes and --soak-minutes take numbers above 0.');
  process.exitCode = 2;
} else if (first < 0) {
  console.error(`There is no ${values.from}. There are: ${stages.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 2;
} else {
  const ends = await runInOrder(stages.slice(first), {
    run: runStage,
    now: () => performance.now(),
    signal: stopping.signal,
  });
  const { lines, good } = tellEnds(ends);
  console.log(lines.join('\n'));
  process.exitCode = good ? 0 : 1;
}

async function runStage({ name, script, args }: Stage): Promise<number> {
  console.error(`\n${name}: ${script} ${args.join(' ')}`);
  running = spawn(process.execPath, [join(import.meta.dirname, script), ...args], { stdio: 'inherit' });
  const [code] = (await once(running, 'exit')) as [number | null];
  // a signal ended it
  return code ?? 1;
}
