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

/** `docs/operations/benchmarks.md`. */
export function benchPage(reports: readonly BenchReport[], day: string, versions: string): string {
  const machines = [
    ...new Set(
      reports.map(
        ({ machine }) =>
          `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}`,
      ),
    ),
  ];
  const goals = reports.flatMap((report) => report.goals.map((goal) => goalRow(report.name, goal)));
  const rows = figures(reports).map(
    ({ benchmark, name, shown }) => `| ${benchmark} | ${cell(name)} | ${shown} |`,
  );
  return `${[
    '# Benchmarks',
    `Written by \`npm run bench\` on ${day}. Absolute figures belong to this machine: ${machines.join('; ')}; ${versions}. What counts are the promises, which are ratios to peers that are measured in the same run wherever there is a peer.`,
    '## Promises',
    ['| benchmark | promise | at most | was | kept |', '| --- | --- | --- | --- | --- |', ...goals].join(
      '\n',
    ),
    '## Figures',
    ['| benchmark | what | figure |', '| --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function goalRow(benchmark: string, { name, goal, value, unit, met }: BenchGoal): string {
  return `| ${benchmark} | ${cell(name)} | ${goal} ${unit} | ${value} | ${met ? 'yes' : '**no**'} |`;
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
  if ('value' in result) return `${result.value} ${result.unit}`;
  const { p50, p99, max, unit, n } = result;
  return `p50 ${p50}, p99 ${p99}, max ${max} ${unit} (n ${n})`;
}
