import { faultOfFolder, memoryBounds } from '@lemniscate/shared/agents/folder.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { mergeMemory } from '@lemniscate/shared/agents/merge-memory.ts';
import type { MemoryFile } from '@lemniscate/shared/agents/merge-memory.ts';
import type { MemoryView } from '@lemniscate/shared/api/memory.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { CollectedFolders } from '@lemniscate/shared/protocol/session-result.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { objectKey } from '../ports/object-store.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { requireStored } from '../uploads/require-stored.ts';

export interface MemoryDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly objects: ObjectStore;
}

/** Whose memory: an agent's, in a project. */
export interface MemoryOwner {
  readonly agent: string;
  readonly project: string;
}

interface MemoryRow extends Record<string, unknown> {
  readonly version: number;
  readonly files: MemoryFile[];
  readonly session_id: string | null;
  readonly changed_by: string;
  readonly changed_at: string;
}

const columns = 'version, files, session_id, changed_by, changed_at';

async function readVersion(
  tx: Transaction,
  owner: MemoryOwner,
  version: number | null,
): Promise<MemoryRow | null> {
  const [row] = await tx.query<MemoryRow>(
    `SELECT ${columns} FROM memories WHERE agent_id = $1 AND project_id = $2 AND ($3::int IS NULL OR version = $3)
     ORDER BY version DESC LIMIT 1`,
    [owner.agent, owner.project, version],
  );
  return row ?? null;
}

/** Pushes of one memory take turns: the version is the next one exactly once. */
async function lockMemory(tx: Transaction, { agent, project }: MemoryOwner): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('memory:' || $1 || ':' || $2, 0))`, [
    agent,
    project,
  ]);
}

/**
 * What an attempt is given to remember, noted in its session as what it began with.
 * @returns null where the agent has no memory
 */
export async function pinMemory(
  tx: Transaction,
  session: Pick<SessionRow, 'id' | 'agent' | 'project_id' | 'agent_definition' | 'memory_version'>,
): Promise<{ readonly version: number; readonly files: readonly FolderFile[] } | null> {
  if ((session.agent_definition.memory ?? 'off') === 'off') return null;
  const owner = { agent: session.agent, project: session.project_id };
  // A session that goes on has what it was given first, and is merged against that.
  const pinned = session.memory_version;
  const newest = pinned === 0 ? null : await readVersion(tx, owner, pinned);
  const version = newest?.version ?? 0;
  await tx.query('UPDATE sessions SET memory_version = $2 WHERE id = $1', [session.id, version]);
  return {
    version,
    files: (newest?.files ?? []).map(({ path, sha256, bytes }) => ({ path, sha256, bytes })),
  };
}

/** What became of what a session left, as sentences for its person. */
export type PushNotices = readonly string[];

/**
 * Takes what a session leaves into its agent's memory, in the transaction that ends it: the whole of it or nothing.
 * What cannot be taken is told and leaves the memory as it was; the session's end does not depend on it.
 */
export async function pushMemory(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  session: SessionRow,
  files: readonly FolderFile[],
  at: string,
  refused: readonly RefusedFile[] = [],
): Promise<PushNotices> {
  const { memory_version: base } = session;
  const mode = session.agent_definition.memory ?? 'off';
  if (base === null || mode === 'off') return [];
  const told = await reportRefused(deps, tx, session, refused);
  return [...told, ...(await take(deps, tx, session, files, at, base, mode))];
}

/** A file of a memory that was left out for what it holds. */
export type RefusedFile = NonNullable<CollectedFolders['refused']>[number];

async function reportRefused(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  session: SessionRow,
  refused: readonly RefusedFile[],
): Promise<PushNotices> {
  if (refused.length === 0) return [];
  const kinds = [...new Set(refused.flatMap((file) => file.kinds))].toSorted().slice(0, 20);
  await deps.audit.append(tx, reviewChain(session.project_id), [
    {
      type: 'memory.refused',
      subject: session.opened_by,
      body: {
        agent: session.agent,
        project: session.project_id,
        session: session.id,
        files: refused.length,
        kinds,
      },
    },
  ]);
  return refused
    .slice(0, 20)
    .map(
      (file) =>
        `${file.path} was not remembered: it holds what looks like a secret (${file.kinds.join(', ')}).`,
    );
}

async function take(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  session: SessionRow,
  files: readonly FolderFile[],
  at: string,
  base: number,
  mode: 'auto' | 'review',
): Promise<PushNotices> {
  const { agent, project_id: project } = session;
  if (!session.memory_writes)
    return ['The memory was left as it was: only sessions of the project’s members add to it.'];
  const fault = faultOfFolder(files, memoryBounds);
  if (fault !== null) return [`The memory was left as it was: ${fault}.`];
  await requireStored(tx, project, files);
  if (mode === 'review') {
    const given = base === 0 ? [] : ((await readVersion(tx, { agent, project }, base))?.files ?? []);
    if (!mergeMemory(given, given, { id: session.id, at, files }).changed) return [];
    await tx.query(
      `INSERT INTO memory_proposals (session_id, agent_id, project_id, base_version, files, state)
       VALUES ($1, $2, $3, $4, $5, 'waiting')`,
      [session.id, agent, project, base, JSON.stringify(files)],
    );
    return ['What the agent wants to remember waits for a person’s review.'];
  }
  const push = { session: session.id, base, files, at, by: session.opened_by };
  const { fault: beyond, notices } = await merge(deps, tx, { agent, project }, push);
  return beyond === null
    ? notices
    : [`The memory was left as it was: with what others kept meanwhile it has ${beyond}.`];
}

interface Push {
  readonly session: string;
  readonly base: number;
  readonly files: readonly FolderFile[];
  readonly at: string;
  readonly by: string;
}

/**
 * Merges into what is in force by now.
 * @returns `fault`: why nothing was written, as a part of a sentence; null: it was, or nothing was different
 */
export async function merge(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  owner: MemoryOwner,
  push: Push,
): Promise<{ readonly fault: string | null; readonly notices: PushNotices }> {
  await lockMemory(tx, owner);
  const current = await readVersion(tx, owner, null);
  const base = push.base === 0 ? null : await readVersion(tx, owner, push.base);
  const merged = mergeMemory(base?.files ?? [], current?.files ?? [], {
    id: push.session,
    at: push.at,
    files: push.files,
  });
  if (!merged.changed) return { fault: null, notices: [] };
  const fault = faultOfFolder(merged.files, memoryBounds);
  if (fault !== null) return { fault, notices: [] };
  await writeVersion(deps, tx, owner, { ...push, files: merged.files, before: current?.version ?? 0 });
  const notices = merged.conflicts.map(
    ({ path, keptAs }) =>
      `Another session changed ${path} in the memory at the same time: both are kept, this one as ${keptAs}.`,
  );
  return { fault: null, notices };
}

/** Where a version came from that no session wrote, as its entry tells it. */
type How =
  | { readonly how: 'restored'; readonly fromVersion: number }
  | { readonly how: 'carried'; readonly fromProject: string; readonly fromVersion: number };

/** Files of another project's memory that a person has let in; each keeps the session that wrote it. */
export async function mergeCarried(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  owner: MemoryOwner,
  carried: {
    readonly carry: string;
    readonly files: readonly MemoryFile[];
    readonly at: string;
    readonly by: string;
    readonly how: How;
  },
): Promise<PushNotices> {
  await lockMemory(tx, owner);
  const current = await readVersion(tx, owner, null);
  const given = carried.files.map(({ path, sha256, bytes }) => ({ path, sha256, bytes }));
  const merged = mergeMemory([], current?.files ?? [], { id: carried.carry, at: carried.at, files: given });
  if (!merged.changed) return ['The memory has these files already.'];
  const writers = new Map(carried.files.map(({ sha256, session }) => [sha256, session]));
  const files = merged.files.map((file) =>
    file.session === carried.carry ? { ...file, session: writers.get(file.sha256) ?? null } : file,
  );
  const fault = faultOfFolder(files, memoryBounds);
  if (fault !== null) throw new CodedError('payload_too_large', `With these files the memory has ${fault}.`);
  const { by, how } = carried;
  await writeVersion(deps, tx, owner, { session: null, before: current?.version ?? 0, files, by, how });
  return merged.conflicts.map(
    ({ path, keptAs }) => `The memory has another ${path}: both are kept, the carried one as ${keptAs}.`,
  );
}

/** A person has looked at what was to be remembered, and it is not. */
export async function recordRejected(
  { audit }: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  person: Person,
  { agent, project }: MemoryOwner,
  what: Readonly<Record<string, string | number>>,
): Promise<void> {
  await audit.append(tx, reviewChain(project), [
    {
      type: 'admin.acted',
      subject: person.subject,
      body: { act: 'memory_rejected', target: agent, project, ...what },
    },
  ]);
}

async function writeVersion(
  deps: Pick<MemoryDeps, 'audit'>,
  tx: Transaction,
  { agent, project }: MemoryOwner,
  change: { session: string | null; before: number; files: readonly MemoryFile[]; by: string; how?: How },
): Promise<void> {
  const version = change.before + 1;
  await tx.query(
    `INSERT INTO memories (agent_id, project_id, version, files, session_id, changed_by) VALUES ($1, $2, $3, $4, $5, $6)`,
    [agent, project, version, JSON.stringify(change.files), change.session, change.by],
  );
  await deps.audit.append(tx, reviewChain(project), [
    {
      type: 'memory.changed',
      subject: change.by,
      body: {
        agent,
        project,
        version,
        before: change.before,
        files: change.files.length,
        ...(change.session === null ? {} : { session: change.session }),
        ...change.how,
      },
    },
  ]);
}

/** A memory as it is, or as a version was. A memory that nobody has written is version 0. @throws CodedError `not_found` */
export async function readMemory(
  tx: Transaction,
  owner: MemoryOwner,
  version: number | null,
): Promise<MemoryView> {
  const row = await readVersion(tx, owner, version);
  if (row !== null)
    return {
      version: row.version,
      files: row.files,
      session: row.session_id,
      changedBy: row.changed_by,
      changedAt: row.changed_at,
    };
  if (version === null) return { version: 0, files: [], session: null, changedBy: null, changedAt: null };
  throw new CodedError('not_found', `The memory has no version ${version}.`, { version });
}

/** Who changed a memory when, the newest version first. */
export async function listMemoryVersions(
  tx: Transaction,
  { agent, project }: MemoryOwner,
): Promise<Omit<MemoryView, 'files'>[]> {
  const rows = await tx.query<MemoryRow>(
    `SELECT version, session_id, changed_by, changed_at FROM memories WHERE agent_id = $1 AND project_id = $2
     ORDER BY version DESC LIMIT 500`,
    [agent, project],
  );
  return rows.map((row) => ({
    version: row.version,
    session: row.session_id,
    changedBy: row.changed_by,
    changedAt: row.changed_at,
  }));
}

/**
 * Makes an earlier version the newest again; the versions between stay.
 * @returns the new version
 * @throws CodedError `version_conflict`, `not_found`
 */
export async function restoreMemory(
  deps: MemoryDeps,
  person: Person,
  owner: MemoryOwner,
  change: { readonly version: number; readonly seen: number },
): Promise<number> {
  return deps.database.transaction(async (tx) => {
    await lockMemory(tx, owner);
    const current = (await readVersion(tx, owner, null))?.version ?? 0;
    if (current !== change.seen)
      throw new CodedError(
        'version_conflict',
        `The memory is at version ${current}, not ${change.seen}. Read it again.`,
        {
          version: current,
        },
      );
    const old = change.version === 0 ? { files: [] } : await readVersion(tx, owner, change.version);
    if (old === null) throw new CodedError('not_found', `The memory has no version ${change.version}.`);
    const how: How = { how: 'restored', fromVersion: change.version };
    await writeVersion(deps, tx, owner, {
      session: null,
      before: current,
      files: old.files,
      by: person.subject,
      how,
    });
    return current + 1;
  });
}

/** How long the address of a file is valid. Seconds. */
const addressSeconds = 300;

/**
 * Where a file of a memory can be read, for minutes.
 * @throws CodedError `not_found`
 */
export async function memoryFileAddress(
  deps: Pick<MemoryDeps, 'database' | 'objects'>,
  owner: MemoryOwner,
  path: string,
  version: number | null,
): Promise<string> {
  const { files } = await readMemory(deps.database, owner, version);
  const file = files.find((one) => one.path === path);
  if (file === undefined || file.bytes === 0)
    throw new CodedError('not_found', `The memory has no file ${path} with content.`, { path });
  return deps.objects.presignGet(objectKey(owner.project, file.sha256), addressSeconds);
}
