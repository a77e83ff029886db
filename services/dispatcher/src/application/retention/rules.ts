import { noRules, retentionRulesSchema } from '@lemniscate/shared/api/retention.ts';
import type { RetentionRules } from '@lemniscate/shared/api/retention.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { requireSeen } from '../content-version.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ContentKeys } from '../ports/content-keys.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { unknownProject } from '../projects/project.ts';

export interface RuleDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  /** Null where the fleet has no master key: then no project can retain content. */
  readonly contentKeys: ContentKeys | null;
}

/** A project's rules; the defaults keep everything and retain no content. @throws CodedError `project_unknown` */
export async function readRules(tx: Transaction, project: string): Promise<RetentionRules> {
  const [row] = await tx.query<{ rules: unknown }>(
    'SELECT r.rules FROM projects p LEFT JOIN project_retention r ON r.project_id = p.id WHERE p.id = $1',
    [project],
  );
  if (row === undefined) throw await unknownProject(tx, project);
  return row.rules === null ? noRules : retentionRulesSchema.parse(row.rules);
}

/**
 * Sets a project's rules; they count for what is there already.
 * @param seen the version of the rules that the person saw
 * @throws CodedError `project_unknown`, `version_conflict`; `request_invalid` for content that nothing could encrypt
 */
export async function setRules(
  { database, audit, contentKeys }: RuleDeps,
  person: Person,
  project: string,
  rules: RetentionRules,
  seen: string,
): Promise<void> {
  if (rules.content !== null && contentKeys === null)
    throw new CodedError(
      'request_invalid',
      'Content can be retained only encrypted, and this fleet has no master key. Set LEMNISCATE_CONTENT_KEY or LEMNISCATE_CONTENT_KMS_KEY.',
    );
  await database.transaction(async (tx) => {
    await tx.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [project]);
    const before = await readRules(tx, project);
    requireSeen(before, seen, `retention rules of "${project}"`);
    await tx.query(
      `INSERT INTO project_retention (project_id, rules, changed_by) VALUES ($1, $2, $3)
       ON CONFLICT (project_id) DO UPDATE SET rules = $2, changed_by = $3, changed_at = now()`,
      [project, JSON.stringify(written(rules)), person.subject],
    );
    await audit.append(tx, reviewChain(project), [
      {
        type: 'retention.changed',
        subject: person.subject,
        body: { project, rules: { ...rules }, before: { ...before } },
      },
    ]);
  });
}

/** A rule that is not there is for ever, and a version that does not know it yet reads the others. */
const written = (rules: RetentionRules): Partial<RetentionRules> =>
  Object.fromEntries(Object.entries(rules).filter(([, days]) => days !== null));
