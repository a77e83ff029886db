import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runInOrder, stagesFor, tellEnds } from './in-order.ts';
import { runStage } from './run-stage.ts';

// `npm run load [-- --from STAGE --chaos-minutes 10 --soak-minutes 60 --to FOLDER]`: all load tests in their order, about
// two and a half hours; ends with 1 when one did not go well. It writes the pages that each of them writes. With --short
// everything runs for as long as it takes to see that it works, a few minutes in all; its pages go to a folder that is named.

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    short: { type: 'boolean', default: false },
    'chaos-minutes': { type: 'string' },
    'soak-minutes': { type: 'string' },
    to: { type: 'string' },
  },
});
const minutes = (given: string | undefined, usual: number, short: number): number =>
  given === undefined ? (values.short ? short : usual) : Number(given);
const chaosMinutes = minutes(values['chaos-minutes'], 10, 0.5);
const soakMinutes = minutes(values['soak-minutes'], 60, 1);
const to = resolve(values.to ?? join(import.meta.dirname, '../../docs/operations'));
const stages = stagesFor({ short: values.short, chaosMinutes, soakMinutes, to });
const first = values.from === undefined ? 0 : stages.findIndex(({ name }) => name === values.from);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const fault = ![chaosMinutes, soakMinutes].every((number) => number > 0 && Number.isFinite(number))
  ? '--chaos-minutes and --soak-minutes take numbers above 0.'
  : first < 0
    ? `There is no ${values.from}. There are: ${stages.map(({ name }) => name).join(', ')}.`
    : values.short && values.to === undefined
      ? '--short wants --to FOLDER: its pages are not those that are kept.'
      : undefined;
if (fault === undefined) {
  mkdirSync(to, { recursive: true });
  const ends = await runInOrder(stages.slice(first), {
    run: async ({ name, script, args, limitMinutes }) => {
      console.error(`\n${name}: ${script} ${args.join(' ')}`);
      return runStage({
        args: [join(import.meta.dirname, script), ...args],
        limitMs: limitMinutes * 60_000,
        graceMs: 60_000,
        signal: stopping.signal,
      });
    },
    now: () => performance.now(),
    signal: stopping.signal,
  });
  const { lines, good } = tellEnds(ends);
  console.log(lines.join('\n'));
  process.exitCode = good ? 0 : 1;
} else {
  console.error(fault);
  process.exitCode = 2;
}
