import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';

/**
 * Makes a git repository out of the sample's files in the data folder. One that is there and still has its first
 * commit is kept, with whatever its person has applied to it; commits have fixed names and dates, so the id tells.
 * @returns folder of the repository
 */
export function openSampleRepository(data: DataFolder): string {
  const folder = data.path('sample-repository');
  const making = data.path('sample-repository.new');
  rmSync(making, { recursive: true, force: true });
  cpSync(join(import.meta.dirname, '../sample'), making, { recursive: true });
  git(making, 'init', '--quiet', '--initial-branch=main');
  git(making, 'add', '--all');
  git(making, 'commit', '--quiet', '--message=Corner shop invoices');
  if (existsSync(join(folder, '.git')) && head(folder) === head(making)) {
    rmSync(making, { recursive: true });
    return folder;
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
  return folder;
}

function head(folder: string): string {
  return git(folder, 'rev-parse', '--verify', '--quiet', 'HEAD^{commit}').trim();
}

const when = '2026-01-05T09:00:00Z';

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 30_000,
    // nothing of the person's configuration: no signing, no hooks, no templates
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'Corner Shop',
      GIT_AUTHOR_EMAIL: 'shop@example.invalid',
      GIT_AUTHOR_DATE: when,
      GIT_COMMITTER_NAME: 'Corner Shop',
      GIT_COMMITTER_EMAIL: 'shop@example.invalid',
      GIT_COMMITTER_DATE: when,
    },
  });
}
