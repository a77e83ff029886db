import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeCommand } from '@lemniscate/shared/policy/command/judge-command.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { Benchmark } from '../benchmark.ts';

const rounds = 200;
/** A judgement stands between each tool call and its permit; people must not notice it. */
const p50Goal = 60;
const p99Goal = 1_000;
/** The longest command that is judged, however hostile, must not hold an event loop for longer. */
const hostileGoalMs = 1_000;

const folder = 'shared/src/policy/command/fixtures';

/** How long the judgement of a command takes: the tables' commands, and texts made to be slow. */
export const judgeBenchmark: Benchmark = {
  name: 'judge',
  about: 'judging a command: the tables of commands, and hostile texts of 100 KB',
  async run(io) {
    const rows = readTable(join(io.projectRoot, folder, 'examples.tsv'));
    for (let round = 0; round < 20; round += 1) for (const row of rows) timed(row.command, row.free);
    const times: number[] = [];
    for (let round = 0; round < rounds && !io.signal.aborted; round += 1)
      for (const row of rows) times.push(timed(row.command, row.free));
    const usual = distribution('one command', 'µs', times);
    const p99 = 'p99' in usual ? usual.p99 : Number.NaN;
    io.say(`${rows.length} commands, ${rounds} rounds`);
    const hostile = hostileTexts().map(([name, text]) => {
      const ms = timed(text, ['ls', 'echo']) / 1_000;
      io.say(`${name}: ${ms.toFixed(0)} ms`);
      return ms;
    });
    const worst = Math.round(Math.max(...hostile));
    return {
      results: [usual, { name: 'slowest hostile text', unit: 'ms', value: worst }],
      goals: [
        goalAtMost('one command, p50', 'µs', p50Goal, usual.p50),
        goalAtMost('one command, p99', 'µs', p99Goal, p99),
        goalAtMost('slowest hostile text', 'ms', hostileGoalMs, worst),
      ],
    };
  },
};

/** Microseconds of one judgement. */
function timed(command: string, free: readonly string[]): number {
  const begin = performance.now();
  judgeCommand(command, { free, approval: [] });
  return Math.round((performance.now() - begin) * 10_000) / 10;
}

function readTable(path: string): { command: string; free: string[] }[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('## '))
    .map((line) => {
      const [command = '', free = ''] = line.split('\t');
      return {
        command: JSON.parse(`"${command}"`) as string,
        free: free.split(',').filter((one) => one !== ''),
      };
    });
}

/** Each was once quadratic or deep in some reader of shell. */
function hostileTexts(): (readonly [string, string])[] {
  const fill = (part: string, end = '') =>
    part.repeat(Math.floor((100_000 - end.length) / part.length)) + end;
  return [
    ['pieces', fill('ls; ')],
    ['pipes', fill('ls|', 'ls')],
    ['nested substitutions', `echo ${'$(ls '.repeat(250)}${'a'.repeat(90_000)}${')'.repeat(250)}`],
    ['backquotes', fill('`')],
    ['braces', `echo ${'{a,'.repeat(2_000)}b${'}'.repeat(2_000)}`],
    ['brackets', `x="${'['.repeat(99_000)}"; ls $x`],
    ['variables', `x=a; rm -rf ${'$x '.repeat(20_000)}`],
    ['wrappers', fill('env ', 'ls')],
    ['here-document', `cat <<E\n${'$(ls)\n'.repeat(15_000)}E\n`],
    ['git settings', `git ${'-c a=b '.repeat(12_000)}`],
    ['dots', `rm -rf /${'../'.repeat(30_000)}`],
  ];
}
