import type { BenchGoal, BenchReport, BenchResult } from './benchmark.ts';

/** A figure as it is kept and compared. */
interface Figure {
  readonly benchmark: string;
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly shown: string;
}

/** The kept run with a newer one laid over it: benchmarks that did not run keep their last figures. */
export function mergeReports(
  kept: readonly BenchReport[],
  newer: readonly BenchReport[],
): readonly BenchReport[] {
  const names = new Set(newer.map(({ name }) => name));
  return [...kept.filter(({ name }) => !names.has(name)), ...newer].toSorted((left, right) =>
    left.name.localeCompare(right.name),
  );
}

/** How a run lies beside the kept one, as ratios: absolute figures of two machines say nothing. */
export function ratiosToKept(
  newer: readonly BenchReport[],
  kept: readonly BenchReport[],
): readonly { readonly what: string; readonly ratio: number }[] {
  const before = new Map(
    figures(kept).map((figure) => [`${figure.benchmark}: ${figure.name}`, figure.value]),
  );
  return figures(newer).flatMap(({ benchmark, name, value }) => {
    const what = `${benchmark}: ${name}`;
    const was = before.get(what);
    return was === undefined || was === 0 ? [] : [{ what, ratio: Math.round((value / was) * 100) / 100 }];
  });
}

/**
 * `docs/operations/benchmarks.md`. A run of some benchmarks leaves the figures of the others, so each says when it ran and
 * of which source.
 * @param names of all benchmarks that there are
 */
export function benchPage(reports: readonly BenchReport[], names: readonly string[]): string {
  const missing = names.filter((name) => !reports.some((report) => report.name === name));
  const goals = reports.flatMap((report) => report.goals.map((goal) => goalRow(report.name, goal)));
  const rows = figures(reports).map(
    ({ benchmark, name, shown }) => `| ${benchmark} | ${cell(name)} | ${shown} |`,
  );
  return `${[
    '# Benchmarks',
    'Written by `npm run bench`. Absolute figures belong to their machine; what counts are the promises, which are ratios to peers that are measured in the same run wherever there is a peer.',
    '## Runs',
    [
      '| benchmark | day | commit | machine | versions |',
      '| --- | --- | --- | --- | --- |',
      ...reports.map(runRow),
    ].join('\n'),
    ...(missing.length === 0
      ? []
      : [`No run is kept of ${missing.join(', ')}: \`npm run bench -- NAME --keep\`.`]),
    '## Promises',
    ['| benchmark | promise | at most | was | kept |', '| --- | --- | --- | --- | --- |', ...goals].join(
      '\n',
    ),
    '## Figures',
    ['| benchmark | what | figure |', '| --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n')}\n`;
}

const unknown = { day: '–', commit: '–', versions: '–' };

function runRow({ name, machine, ran = unknown }: BenchReport): string {
  const { cpu, cores, memoryGiB, node } = machine;
  return `| ${name} | ${ran.day} | ${ran.commit} | ${cell(cpu)}, ${cores} cores, ${memoryGiB} GiB, Node ${node} | ${ran.versions} |`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function goalRow(benchmark: string, { name, goal, value, unit, met }: BenchGoal): string {
  return `| ${benchmark} | ${cell(name)} | ${goal} ${unit} | ${short(value)} | ${met ? 'yes' : '**no**'} |`;
}

function figures(reports: readonly BenchReport[]): Figure[] {
  return reports.flatMap((report) =>
    report.results.map((result) => ({
      benchmark: report.name,
      name: result.name,
      unit: result.unit,
      value: 'value' in result ? result.value : result.p50,
      shown: shown(result),
    })),
  );
}

function shown(result: BenchResult): string {
  if ('value' in result) return `${short(result.value)} ${result.unit}`;
  const { p50, p99, max, unit, n } = result;
  return `p50 ${short(p50)}, p99 ${short(p99)}, max ${short(max)} ${unit} (n ${n})`;
}

/** Four digits say all that a benchmark can know. */
function short(value: number): string {
  return String(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4)));
}
