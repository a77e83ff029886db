import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from '../benchmark.ts';
import { describeSource } from '../describe-source.ts';
import { chaosPage } from './chaos-page.ts';
import { runChaos } from './run-chaos.ts';

// `npm run chaos [-- --seed N --minutes M --rate SESSIONS_PER_SECOND --no-real --json --keep --to FOLDER]`: ends with 1 when a promise
// was broken. The seed is printed; the same seed gives the same work and the same faults at the same times again.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '4' },
    'no-real': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    /** Writes `chaos-run.md`, the page of one long run. */
    keep: { type: 'boolean', default: false },
    to: { type: 'string', default: join(import.meta.dirname, '../../../docs/operations') },
  },
});
const [seed, minutes, perSecond] = [Number(values.seed), Number(values.minutes), Number(values.rate)];
if (![seed, minutes, perSecond].every((number) => Number.isFinite(number) && number > 0)) {
  console.error('--seed, --minutes and --rate take numbers above 0.');
  process.exit(2);
}
console.error(
  `chaos of ${minutes} minutes, seed ${seed}: npm run chaos -- --seed ${seed} --minutes ${minutes}`,
);
const projectRoot = join(import.meta.dirname, '../../..');
// Of what is run, and not of what has been checked out when it ends.
const source = describeSource(projectRoot);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
const report = await runChaos({
  seed,
  minutes,
  perSecond,
  withRealServer: !values['no-real'],
  exhaustive: true,
  projectRoot,
  environment: process.env,
  say: (line) => console.error(line),
  signal: stopping.signal,
});
if (values.keep) writeFileSync(join(values.to, 'chaos-run.md'), chaosPage(report, source, describeMachine()));
console.log(values.json ? JSON.stringify(report) : describe());
process.exitCode = report.violations.length === 0 && report.shortfalls.length === 0 ? 0 : 1;

function describe(): string {
  const { asks, violations, crashPoints } = report;
  return [
    `${asks.asked} sessions asked for, ${asks.accepted} accepted, ${JSON.stringify(asks.refused)} refused, ${asks.unanswered} unanswered`,
    `${report.sessions} sessions, ${report.restarts} restarts, ${report.deathsAtPoints} deaths at crash points, ${report.survivors} completed after the loss of a server`,
    ...Object.entries(report.ends).map(([end, count]) => `  ${end}: ${count}`),
    'faults:',
    ...Object.entries(report.strikes).map(([fault, count]) => `  ${fault}: ${count}`),
    'crash points (passed, and not died at):',
    ...Object.entries(crashPoints).map(
      ([kind, { seen, left }]) => `  ${kind}: ${seen}, ${left.join(' | ') || 'none'}`,
    ),
    'errors in the logs:',
    ...Object.entries(report.errors).map(([error, count]) => `  ${error}: ${count}`),
    'promises (times broken):',
    ...Object.entries(report.promises).map(([promise, broken]) => `  ${promise}: ${broken}`),
    violations.length === 0
      ? 'every promise was kept'
      : `${violations.length} promises were broken; seed ${seed}, all that is known is in ${report.folder}`,
    ...report.shortfalls.map((what) => `not reached: ${what}`),
    ...violations.slice(0, 50).map(({ invariant, what }) => `  ${invariant}: ${what}`),
  ].join('\n');
}
