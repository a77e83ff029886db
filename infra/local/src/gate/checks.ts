import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** One check of the gate: a program of node_modules/.bin that exits 0 when all is well. */
export interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** The checks, the longest first so that the two that run at a time end together. */
export const checks: readonly Check[] = [
  { name: 'unused code', command: 'knip', args: ['--no-progress'] },
  { name: 'lint', command: 'oxlint', args: ['--deny-warnings', '--type-aware'] },
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'types of the console', command: 'tsc', args: ['--noEmit', '-p', 'clients/console'] },
  {
    name: 'import directions',
    command: 'node',
    args: ['--test', '--test-isolation=none', 'infra/local/src/import-directions.test.ts'],
  },
  { name: 'format', command: 'oxfmt', args: ['--check'] },
];

/** How a check ended. */
export interface CheckEnd {
  readonly check: Check;
  readonly passed: boolean;
  readonly output: string;
  readonly durationMs: number;
}

/** For a check that hangs. On a machine that is shared by several builds the lint alone took over a minute. */
const boundMs = 180_000;
const keptOutput = 60_000;

/** Runs one check from the project root; it fails when it does not end within its bound. */
export async function runCheck(check: Check, projectRoot: string, stopped: AbortSignal): Promise<CheckEnd> {
  const from = performance.now();
  const child = spawn(join(projectRoot, 'node_modules/.bin', check.command), check.args, {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([stopped, AbortSignal.timeout(boundMs)]),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-keptOutput);
    });
  const passed = await new Promise<boolean>((settle) => {
    child.once('error', (error) => {
      output += `\n${check.command}: ${error.message}`;
      settle(false);
    });
    child.once('close', (code) => settle(code === 0));
  });
  return { check, passed, output, durationMs: Math.round(performance.now() - from) };
}
