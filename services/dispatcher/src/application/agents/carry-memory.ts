import { createHash } from 'node:crypto';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import type { MemoryFile } from '@lemniscate/shared/agents/merge-memory.ts';
import type { MemoryCarry } from '@lemniscate/shared/api/memory.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { personOwner } from '../uploads/upload-row.ts';
import { mergeCarried, readMemory, recordRejected } from './memory.ts';
import type { MemoryDeps, MemoryOwner, PushNotices } from './memory.ts';

export interface CarryDeps extends MemoryDeps {
  readonly newId: NewId;
}

/** What somebody wants carried: files of the agent's memory in another project, all of them unless some are named. */
export interface CarryRequest {
  readonly from: string;
  readonly version: number | null;
  readonly paths: readonly string[] | null;
}

interface CarryRow extends Record<string, unknown> {
  readonly id: string;
  readonly from_project: string;
  readonly from_version: number;
  readonly files: MemoryFile[];
  readonly asked_by: string;
  readonly created_at: string;
}

const columns = 'id, from_project, from_version, files, asked_by, created_at';

/**
 * Asks for files of a memory to be carried into this project. Nothing is carried by it: a person decides.
 * @returns the request's id
 * @throws CodedError `forbidden` for whoever may not look at the other project, `not_found` for files that it lacks
 */
export async function askToCarry(
  deps: CarryDeps,
  person: Person,
  owner: MemoryOwner,
  request: CarryRequest,
): Promise<string> {
  requireRole(
    person,
    request.from,
    `read the memory of project "${request.from}"`,
    ...(['member', 'approver', 'project_admin', 'administrator', 'auditor'] as const),
  );
  if (request.from === owner.project)
    throw new CodedError('request_invalid', 'A memory is carried from another project, not from its own.');
  const memory = await readMemory(
    deps.database,
    { agent: owner.agent, project: request.from },
    request.version,
  );
  const wanted = request.paths ?? memory.files.map(({ path }) => path);
  const files = memory.files.filter(({ path }) => wanted.includes(path));
  const missing = wanted.filter((path) => !files.some((file) => file.path === path));
  if (missing.length > 0 || files.length === 0)
    throw new CodedError(
      'not_found',
      `The memory of agent "${owner.agent}" in project "${request.from}" has no ${missing.length === 0 ? 'files' : missing.slice(0, 5).join(', ')}.`,
    );
  const id = deps.newId('carry');
  await deps.database.query(
    `INSERT INTO memory_carries (id, agent_id, project_id, from_project, from_version, files, asked_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, owner.agent, owner.project, request.from, memory.version, JSON.stringify(files), person.subject],
  );
  return id;
}

/** What waits for a person's look in the project, the oldest first. */
export async function listCarries(tx: Transaction, { agent, project }: MemoryOwner): Promise<MemoryCarry[]> {
  const rows = await tx.query<CarryRow>(
    `SELECT ${columns} FROM memory_carries WHERE agent_id = $1 AND project_id = $2 AND state = 'waiting'
     ORDER BY created_at LIMIT 200`,
    [agent, project],
  );
  return rows.map((row) => ({
    id: row.id,
    from: row.from_project,
    fromVersion: row.from_version,
    files: row.files,
    askedBy: row.asked_by,
    createdAt: row.created_at,
  }));
}

/**
 * A person's word on what is to be carried. Accepted files are merged like a session's: what differs is kept twice.
 * @returns notices of the merge
 * @throws CodedError `forbidden` for a program, `not_found` when nothing waits, `storage_failed`
 */
export async function decideCarry(
  deps: CarryDeps,
  person: Person,
  owner: MemoryOwner,
  decision: { readonly carry: string; readonly accept: boolean; readonly at: string },
): Promise<PushNotices> {
  if (person.kind !== 'human')
    throw new CodedError(
      'forbidden',
      `${person.name} is a program. What a memory is given is decided by a person.`,
    );
  const [waiting] = await deps.database.query<CarryRow>(
    `SELECT ${columns} FROM memory_carries WHERE id = $1 AND agent_id = $2 AND project_id = $3 AND state = 'waiting'`,
    [decision.carry, owner.agent, owner.project],
  );
  if (waiting === undefined) throw nothingWaits(decision.carry);
  // Contents first: the version that names them is written when they are there.
  if (decision.accept)
    for (const file of waiting.files) await copyObject(deps, waiting.from_project, owner, file);
  return deps.database.transaction(async (tx) => {
    const [row] = await tx.query<CarryRow>(
      `UPDATE memory_carries SET state = $2, decided_by = $3, decided_at = now() WHERE id = $1 AND state = 'waiting'
       RETURNING ${columns}`,
      [decision.carry, decision.accept ? 'accepted' : 'rejected', person.subject],
    );
    if (row === undefined) throw nothingWaits(decision.carry);
    if (!decision.accept) {
      await recordRejected(deps, tx, person, owner, {
        carry: row.id,
        fromProject: row.from_project,
        files: row.files.length,
      });
      return [];
    }
    await noteStored(deps, tx, person, owner, row.files);
    return mergeCarried(deps, tx, owner, {
      carry: row.id,
      files: row.files,
      at: decision.at,
      by: person.subject,
      how: { how: 'carried', fromProject: row.from_project, fromVersion: row.from_version },
    });
  });
}

function nothingWaits(carry: string): CodedError {
  return new CodedError('not_found', `Nothing of ${carry} waits to be carried into this memory.`);
}

async function copyObject(
  { objects }: CarryDeps,
  from: string,
  owner: MemoryOwner,
  { path, sha256, bytes }: FolderFile,
): Promise<void> {
  if (bytes === 0) return;
  const to = objectKey(owner.project, sha256);
  if ((await objects.size(to)) === bytes) return;
  const found = await objects.get(objectKey(from, sha256));
  const parts: Uint8Array[] = [];
  for await (const part of found?.body ?? []) parts.push(part);
  const content = Buffer.concat(parts);
  if (createHash('sha256').update(content).digest('hex') !== sha256)
    throw new CodedError('storage_failed', `The content of ${path} is not in the store any more.`, { path });
  await objects.put(to, content);
}

async function noteStored(
  { newId }: CarryDeps,
  tx: Transaction,
  person: Person,
  { project }: MemoryOwner,
  files: readonly FolderFile[],
): Promise<void> {
  const stored = files.filter(({ bytes }) => bytes > 0);
  await tx.query(
    `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
     SELECT id, $1, $2, sha256, bytes, 'stored', now() FROM unnest($3::text[], $4::text[], $5::bigint[]) AS f (id, sha256, bytes)`,
    [
      project,
      personOwner(person),
      stored.map(() => newId('upload')),
      stored.map(({ sha256 }) => sha256),
      stored.map(({ bytes }) => bytes),
    ],
  );
}
