import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchReport } from './benchmark.ts';

const libraries = ['bullmq', 'fastify', 'pg', 'undici'];

/** What a run that ends now was a run of: the source that is checked out, and the libraries that figures hang on. */
export function describeSource(projectRoot: string): NonNullable<BenchReport['ran']> {
  const { dependencies } = JSON.parse(
    readFileSync(join(projectRoot, 'services/dispatcher/package.json'), 'utf8'),
  ) as { dependencies: Readonly<Record<string, string>> };
  return {
    day: new Date().toISOString().slice(0, 10),
    commit: checkedOut(projectRoot),
    versions: libraries.map((name) => `${name} ${dependencies[name]}`).join(', '),
  };
}

/** A source archive has no history. */
function checkedOut(projectRoot: string): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: projectRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    // the kept figures themselves change with each kept run
    const changes = git('status', '--porcelain', '--', '.', ':!docs/operations/benchmarks.*');
    return `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : '+'}`;
  } catch {
    return 'unknown';
  }
}
