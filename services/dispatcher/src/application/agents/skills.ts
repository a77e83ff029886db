import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { faultOfFolder, skillBounds } from '@lemniscate/shared/agents/folder.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import {
  maxSkillDocument,
  readSkillDocument,
  skillDocumentName,
} from '@lemniscate/shared/agents/skill-document.ts';
import type { AgentDefinition, SkillView } from '@lemniscate/shared/api/agent.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { objectKey } from '../ports/object-store.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { requireProject } from '../access/role-bindings.ts';
import { requireStored } from '../uploads/require-stored.ts';

export interface SkillDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly objects: ObjectStore;
}

interface SkillRow extends Record<string, unknown> {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly files: FolderFile[];
  readonly digest: string;
  readonly pushed_by: string;
  readonly pushed_at: string;
}

const columns = 'name, version, description, files, digest, pushed_by, pushed_at';

function toView({ pushed_by: pushedBy, pushed_at: pushedAt, ...row }: SkillRow): SkillView {
  const { name, version, description, files, digest } = row;
  return { name, version, description, files, digest, pushedBy, pushedAt };
}

/**
 * Makes a version of a skill out of objects that were uploaded to the project before. The same files again are no new
 * version.
 * @param seen the version on which the files are based; 0: there was none
 * @throws CodedError `request_invalid` that names the fault; `not_found` for bytes that nobody has uploaded;
 *   `version_conflict`
 */
export async function pushSkill(
  deps: SkillDeps,
  person: Person,
  project: string,
  name: string,
  given: readonly FolderFile[],
  seen: number,
): Promise<SkillView> {
  const files = given.toSorted((left, right) => (left.path < right.path ? -1 : 1));
  const fault = faultOfFolder(files, skillBounds);
  if (fault !== null) throw new CodedError('request_invalid', `Skill "${name}": ${fault}.`, { skill: name });
  await requireStored(deps.database, project, files);
  const document = await readDocument(deps, project, name, files);
  const digest = createHash('sha256')
    .update(canonicalize(files) ?? '')
    .digest('hex');
  return deps.database.transaction(async (tx) => {
    // One pusher of a skill at a time: two would make the same version.
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('skill:' || $1 || ':' || $2, 0))`, [
      project,
      name,
    ]);
    const [last] = await tx.query<SkillRow>(
      `SELECT ${columns} FROM skills WHERE project_id = $1 AND name = $2 ORDER BY version DESC LIMIT 1`,
      [project, name],
    );
    if (last?.digest === digest) return toView(last);
    if ((last?.version ?? 0) !== seen)
      throw new CodedError(
        'version_conflict',
        `The skill "${name}" is at version ${last?.version ?? 0}, not ${seen}. Pull it, bring your changes in, and push that.`,
        { skill: name, version: last?.version ?? 0 },
      );
    const [added] = await tx.query<SkillRow>(
      `INSERT INTO skills (project_id, name, version, description, files, digest, pushed_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${columns}`,
      [
        project,
        name,
        (last?.version ?? 0) + 1,
        document.description,
        JSON.stringify(files),
        digest,
        person.subject,
      ],
    );
    if (added === undefined) throw new Error('a pushed skill was not returned');
    await deps.audit.append(tx, reviewChain(project), [
      {
        type: 'skill.pushed',
        subject: person.subject,
        body: { skill: name, project, version: added.version, filesDigest: digest, files: files.length },
      },
    ]);
    return toView(added);
  });
}

async function readDocument(deps: SkillDeps, project: string, name: string, files: readonly FolderFile[]) {
  const file = files.find(({ path }) => path === skillDocumentName);
  if (file === undefined)
    throw new CodedError('request_invalid', `Skill "${name}" has no ${skillDocumentName} at its root.`, {
      skill: name,
    });
  // Four bytes a character at most.
  if (file.bytes > 4 * maxSkillDocument)
    throw new CodedError('request_invalid', `${skillDocumentName} of skill "${name}" is too long.`, {
      skill: name,
    });
  const object = await deps.objects.get(objectKey(project, file.sha256));
  if (object === null)
    throw new CodedError('storage_failed', `${skillDocumentName} is not in the store any more.`);
  const pieces: Uint8Array[] = [];
  for await (const piece of object.body) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  if (bytes.includes(0))
    throw new CodedError('request_invalid', `${skillDocumentName} of skill "${name}" is no text.`);
  return readSkillDocument(bytes.toString('utf8'), name, new Set(files.map(({ path }) => path)));
}

/** The newest version of each skill of a project, by name. @throws CodedError `project_unknown` */
export async function listSkills(tx: Transaction, project: string): Promise<SkillView[]> {
  await requireProject(tx, project);
  const rows = await tx.query<SkillRow>(
    `SELECT DISTINCT ON (name) ${columns} FROM skills WHERE project_id = $1 ORDER BY name, version DESC LIMIT 1000`,
    [project],
  );
  return rows.map(toView);
}

/** How long an address of a skill's file is valid. Seconds. */
const addressSeconds = 600;

/**
 * A skill with addresses of its files, the newest version unless one is named.
 * @throws CodedError `not_found`
 */
export async function readSkill(
  deps: SkillDeps,
  project: string,
  name: string,
  version: number | null,
): Promise<SkillView & { addresses: Record<string, string> }> {
  const view = await findSkill(deps.database, project, name, version);
  if (view === null)
    throw new CodedError(
      'not_found',
      `Project "${project}" has no skill "${name}"${version === null ? '' : ` of version ${version}`}.`,
      { skill: name },
    );
  const addresses: Record<string, string> = {};
  // What has no bytes is no object, whatever digest somebody has named for it.
  for (const { sha256 } of view.files.filter(({ bytes }) => bytes > 0))
    addresses[sha256] ??= await deps.objects.presignGet(objectKey(project, sha256), addressSeconds);
  return { ...view, addresses };
}

async function findSkill(
  tx: Transaction,
  project: string,
  name: string,
  version: number | null,
): Promise<SkillView | null> {
  const [row] = await tx.query<SkillRow>(
    `SELECT ${columns} FROM skills WHERE project_id = $1 AND name = $2 AND ($3::int IS NULL OR version = $3)
     ORDER BY version DESC LIMIT 1`,
    [project, name, version],
  );
  return row === undefined ? null : toView(row);
}

/** A skill as a session freezes it. */
export type FrozenSkill = Pick<SkillView, 'name' | 'version' | 'description' | 'files'>;

/**
 * The skills of an agent as they are at this moment.
 * @throws CodedError `not_found` for one that the project does not have
 */
export async function loadSkills(
  tx: Transaction,
  project: string,
  wanted: AgentDefinition['skills'],
): Promise<FrozenSkill[]> {
  const found = await Promise.all(
    wanted.map(async ({ name, version }) => {
      const skill = await findSkill(tx, project, name, version ?? null);
      if (skill !== null) return skill;
      throw new CodedError(
        'not_found',
        `The agent wants the skill "${name}", which project "${project}" does not have. Push it: lemniscate skills push.`,
        { skill: name },
      );
    }),
  );
  return found.map(({ name, version, description, files }) => ({ name, version, description, files }));
}
