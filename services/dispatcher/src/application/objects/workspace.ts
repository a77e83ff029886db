import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { requireProject } from '../access/role-bindings.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

/** What a project's workspace is set to; version 0: nobody has set it. */
export interface Workspace {
  readonly version: number;
  readonly repository: RepositorySource | null;
}

/** @throws CodedError `project_unknown` */
export async function readWorkspace(tx: Transaction, project: string): Promise<Workspace> {
  await requireProject(tx, project);
  const [row] = await tx.query<{ version: number; repository: RepositorySource | null }>(
    'SELECT version, repository FROM project_workspaces WHERE project_id = $1',
    [project],
  );
  return row ?? { version: 0, repository: null };
}

/**
 * Sets what sessions of the project work on where nothing names a repository.
 * @throws CodedError `project_unknown`, `version_conflict`
 */
export async function setWorkspace(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  person: Person,
  project: string,
  { repository, seen }: { readonly repository: RepositorySource | null; readonly seen: number },
): Promise<number> {
  return database.transaction(async (tx) => {
    await requireProject(tx, project);
    const values = [project, repository === null ? null : JSON.stringify(repository), person.subject];
    const [row] =
      seen === 0
        ? await tx.query<{ version: number }>(
            `INSERT INTO project_workspaces (project_id, repository, changed_by) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING RETURNING version`,
            values,
          )
        : await tx.query<{ version: number }>(
            `UPDATE project_workspaces SET version = version + 1, repository = $2, changed_by = $3, changed_at = now()
             WHERE project_id = $1 AND version = $4 RETURNING version`,
            [...values, seen],
          );
    if (row === undefined)
      throw new CodedError(
        'version_conflict',
        `The workspace of project "${project}" is not at version ${seen}. Read it again and change that.`,
        { project },
      );
    await audit.append(tx, reviewChain(project), [
      {
        type: 'admin.acted',
        subject: person.subject,
        body: { act: 'workspace_set', target: project, version: row.version },
      },
    ]);
    return row.version;
  });
}
