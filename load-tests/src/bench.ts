import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchPage, mergeReports, ratiosToKept } from './bench-page.ts';
import { describeMachine } from './benchmark.ts';
import type { BenchReport, BenchResult, Benchmark } from './benchmark.ts';
import { describeSource } from './describe-source.ts';
import { benchmarks } from './registry.ts';

// `npm run bench [-- NAME…] [--json] [--to FOLDER] [--no-goals]`: runs benchmarks by name, or all; ends with 1 when a goal is not met. With --json
// one JSON object a benchmark, one a line, on stdout, and all else on stderr. A run of all, or one with --keep, is compared
// with the kept run and kept in its place: benchmarks.json in FOLDER (docs/operations), and the page beside it. With --page
// nothing runs and the page is written again from what is kept. With --no-goals a goal that is not met is told and no failure.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
    to: { type: 'string', default: join(import.meta.dirname, '../../docs/operations') },
    'no-goals': { type: 'boolean', default: false },
  },
});
const projectRoot = join(import.meta.dirname, '../..');
const reports: BenchReport[] = [];
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const unknown = positionals.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are:`);
  for (const { name, about } of benchmarks) console.error(`  ${name}  ${about}`);
  process.exitCode = 2;
} else if (values.page) keep();
else {
  for (const benchmark of benchmarks)
    if (positionals.length === 0 || positionals.includes(benchmark.name))
      await runOne(benchmark).catch((error: unknown) => {
        // the figures of the others are worth their hours all the same
        console.error(`${benchmark.name} did not run to its end:`, error);
        process.exitCode = 1;
      });
  if ((values.keep || positionals.length === 0) && !stopping.signal.aborted) keep();
}

async function runOne(benchmark: Benchmark): Promise<void> {
  const outcome = await benchmark.run({
    projectRoot,
    environment: process.env,
    say: (line) => console.error(line),
    signal: stopping.signal,
  });
  const report: BenchReport = {
    name: benchmark.name,
    machine: describeMachine(),
    ran: describeSource(projectRoot),
    ...outcome,
  };
  if (values.json) console.log(JSON.stringify(report));
  else showReport(report);
  reports.push(report);
  if (!values['no-goals'] && report.goals.some(({ met }) => !met)) process.exitCode = 1;
}

function keep(): void {
  const file = join(values.to, 'benchmarks.json');
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BenchReport[]) : [];
  for (const { what, ratio } of ratiosToKept(reports, kept))
    console.error(`  ${ratio} of the kept run: ${what}`);
  const merged = mergeReports(kept, reports);
  writeFileSync(file, `${JSON.stringify(merged, null, 1)}\n`);
  writeFileSync(
    join(values.to, 'benchmarks.md'),
    benchPage(
      merged,
      benchmarks.map(({ name }) => name),
    ),
  );
}

function showReport(report: BenchReport): void {
  const { cpu, cores, memoryGiB, node } = report.machine;
  console.log(`${report.name} on ${cpu}, ${cores} cores, ${memoryGiB} GiB, Node ${node}`);
  for (const result of report.results) console.log(`  ${result.name}: ${figures(result)}`);
  for (const goal of report.goals)
    console.log(
      `  ${goal.met ? 'met' : 'NOT MET'}: ${goal.name} at most ${goal.goal} ${goal.unit}, was ${goal.value}`,
    );
}

function figures(result: BenchResult): string {
  if ('value' in result) return `${result.value} ${result.unit}`;
  return `p50 ${result.p50}, p99 ${result.p99}, max ${result.max} ${result.unit} (n ${result.n})`;
}
