import type { BenchReport } from '../benchmark.ts';
import type { ChaosReport } from './run-chaos.ts';

/** `docs/operations/chaos-run.md`: what one long run did and found. */
export function chaosPage(
  report: ChaosReport,
  { day, commit, versions }: NonNullable<BenchReport['ran']>,
  machine: BenchReport['machine'],
): string {
  const table = (head: readonly [string, string], rows: Readonly<Record<string, number>>): string[] => [
    `| ${head[0]} | ${head[1]} |`,
    '| --- | --- |',
    ...Object.entries(rows)
      .toSorted(([, left], [, right]) => right - left)
      .map(([name, value]) => `| ${name} | ${value} |`),
    '',
  ];
  const { asks, violations, shortfalls } = report;
  return [
    '# One long storm',
    '',
    `Written by \`npm run chaos -- --seed ${report.seed} --minutes ${report.minutes} --keep\`; do not edit. What is staged and`,
    'what is promised: [chaos.md](chaos.md).',
    '',
    `${day}, commit ${commit}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, Node ${machine.node}, ${versions}.`,
    '',
    violations.length === 0
      ? '**Every promise was kept.**'
      : `**${violations.length} promises were broken:** ${violations.map(({ invariant, what }) => `${invariant}: ${what}`).join('; ')}`,
    ...shortfalls.map((what) => `Not reached: ${what}.`),
    '',
    `${asks.asked} sessions were asked for: ${asks.accepted} were accepted, ${Object.values(asks.refused).reduce((sum, count) => sum + count, 0)} refused at a limit, ${asks.unanswered} not answered.`,
    `${report.sessions} sessions, of which ${report.survivors} were completed after they had lost a server. Processes were`,
    `started again ${report.restarts} times; ${report.deathsAtPoints} died at a named crash point.`,
    '',
    ...table(['promise', 'times broken'], report.promises),
    ...table(['end', 'sessions'], report.ends),
    ...table(['fault', 'times'], report.strikes),
    ...table(
      [
        'crash points that something died at, before and after each commit, Redis call and HTTP call',
        'points',
      ],
      Object.fromEntries(
        Object.entries(report.crashPoints).map(([kind, { seen, left }]) => [kind, seen - left.length]),
      ),
    ),
  ].join('\n');
}
