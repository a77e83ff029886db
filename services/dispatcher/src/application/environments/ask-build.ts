import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { placeOfBuild } from './place-of-build.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { Person } from '../identity.ts';
import type { Database } from '../ports/transaction.ts';
import { loadProjectPolicy } from '../projects/project.ts';
import { checkStoredBundle } from '../sessions/check-references.ts';
import type { Signals } from '../signals.ts';
import { beginBuild } from './begin-build.ts';
import type { BeginBuildDeps } from './begin-build.ts';

export interface AskBuildDeps extends BeginBuildDeps {
  readonly database: Database;
  readonly signals: Signals;
}

/**
 * Builds the environment that a repository needs as it is now, before any session asks.
 * @returns the environment's id
 * @throws CodedError `project_unknown`, `conflict` for a project without an environment, `repository_missing`
 */
export async function askBuild(
  deps: AskBuildDeps,
  person: Person,
  project: string,
  repository: RepositorySource,
): Promise<string> {
  const id = await deps.database.transaction(async (tx) => {
    const terms = await loadProjectPolicy(tx, project);
    const { environment } = terms.policy;
    if (environment === undefined)
      throw new CodedError(
        'conflict',
        `The policy of project "${project}" has no "environment". Add one that says what to prepare.`,
        { project },
      );
    await checkStoredBundle(tx, { repository, project });
    return beginBuild(deps, tx, {
      project,
      key: null,
      cause: 'person',
      repository,
      policy: terms.policy,
      environment,
      ...placeOfBuild(terms),
      subject: person.subject,
    });
  });
  deps.signals.send('outbox', null);
  return id;
}
