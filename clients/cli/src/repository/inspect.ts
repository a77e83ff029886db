import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { git, gitText } from './git.ts';

/** A local repository that a session can be made from. */
export interface LocalRepository {
  /** Top folder of the working tree. */
  readonly folder: string;
  readonly name: string;
  /** Null before the first commit. */
  readonly head: string | null;
  /** Without whole history: only a snapshot of the files can be sent. */
  readonly shallow: boolean;
  readonly submodules: boolean;
}

/**
 * Looks at the folder before anything is made of it.
 * @throws CodedError `repository_missing`, `repository_bare`, `repository_empty`, `repository_broken`
 */
export async function inspectRepository(path: string): Promise<LocalRepository> {
  const asked = resolve(path);
  const found = await stat(asked).catch(() => null);
  if (found === null)
    throw new CodedError(
      'repository_missing',
      `There is nothing at ${asked}. Give the folder of a git repository with --repo.`,
    );
  if (!found.isDirectory())
    throw new CodedError(
      'repository_missing',
      `${asked} is not a folder. Give the folder of a git repository with --repo.`,
    );
  const bare = await git(asked, ['rev-parse', '--is-bare-repository']);
  if (bare.exitCode !== 0) throw notOne(asked, bare.stderr);
  if (bare.stdout.toString('utf8').trim() === 'true')
    throw new CodedError(
      'repository_bare',
      `${asked} is a bare repository: it has no files to work on. Clone it and give the clone.`,
    );
  const top = await git(asked, ['rev-parse', '--show-toplevel']);
  const folder = top.stdout.toString('utf8').trim();
  if (top.exitCode !== 0 || folder === '')
    throw new CodedError(
      'repository_bare',
      `${asked} lies inside a .git folder. Give the folder of its working tree.`,
    );
  const head = await git(folder, ['rev-parse', '--verify', '-q', 'HEAD^{commit}']);
  const files = head.exitCode === 0 ? '' : await gitText(folder, ['ls-files', '-co', '--exclude-standard']);
  if (head.exitCode !== 0 && files === '')
    throw new CodedError(
      'repository_empty',
      `${folder} has neither a commit nor a file. Put something into it first.`,
    );
  return {
    folder,
    name: basename(folder),
    head: head.exitCode === 0 ? head.stdout.toString('utf8').trim() : null,
    shallow: (await gitText(folder, ['rev-parse', '--is-shallow-repository'])) === 'true',
    submodules: (await stat(`${folder}/.gitmodules`).catch(() => null)) !== null,
  };
}

function notOne(folder: string, stderr: string): CodedError {
  if (/dubious ownership/.test(stderr))
    return new CodedError(
      'repository_broken',
      `${folder} belongs to another user, and git refuses it. If you trust it: git config --global --add safe.directory ${folder}`,
    );
  if (/not a git repository/.test(stderr))
    return new CodedError(
      'repository_missing',
      `${folder} is not a git repository. Run "git init" there, or give another folder with --repo.`,
    );
  return new CodedError('repository_broken', `git cannot read ${folder}: ${stderr.trim().slice(-500)}`);
}
