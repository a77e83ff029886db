import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EnvironmentPolicy } from '@lemniscate/shared/policy/environment.ts';
import type { ResolvedEnvironment, ResolveEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { lockLiveAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import type { Signals } from '../signals.ts';
import { beginBuild } from './begin-build.ts';
import type { BeginBuildDeps } from './begin-build.ts';
import { environmentColumns, takeEnvironmentTurn } from './environment-row.ts';
import type { EnvironmentRow } from './environment-row.ts';

export interface ResolveDeps extends BeginBuildDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  /** An address from which an object of the project can be read, for minutes. */
  readonly bundleAddress: (projectId: string, sha256: string) => Promise<string>;
}

/** A build that failed is not begun again by the next session that needs it before so long. */
const retryAfter = `interval '10 minutes'`;

interface Found {
  readonly ready: EnvironmentRow | null;
  readonly building: EnvironmentRow | null;
  readonly failed: EnvironmentRow | null;
  readonly stale: boolean;
  /** The project has another one that was ready: something has changed since. */
  readonly earlier: boolean;
}

/** What becomes of the session, decided under its lock. */
type Decision =
  | { readonly kind: 'ready'; readonly row: EnvironmentRow }
  | Exclude<ResolvedEnvironment, { kind: 'ready' }>;

/**
 * Part of a session's start: the environment that its commit needs, or what its policy wants where there is none. One
 * that waits goes back into the queue and frees its slot, for the build needs one too.
 * @throws CodedError `attempt_stale`, `conflict` for a session without an environment
 */
export async function resolveEnvironment(
  deps: ResolveDeps,
  claim: AttemptClaim,
  needed: ResolveEnvironment,
): Promise<ResolvedEnvironment> {
  const decided = await deps.database.transaction(async (tx) => {
    const session = await lockLiveAttempt(tx, claim);
    const { environment } = session.policy;
    if (environment === undefined || session.state !== 'starting')
      throw new CodedError('conflict', `Session ${session.id} does not start with an environment.`);
    await takeEnvironmentTurn(tx, session.project_id, needed.key);
    const found = await look(tx, session.project_id, environment, needed.key);
    return { decision: await decide(deps, tx, claim, session, environment, needed, found), session };
  });
  const { decision, session } = decided;
  if (decision.kind === 'parked') {
    deps.events.announce(session.id);
    deps.signals.send('outbox', null);
    deps.signals.send('slotFreed', undefined);
  }
  if (decision.kind !== 'ready') return decision;
  const { id, archive_sha256: sha256, archive_bytes: bytes, installed } = decision.row;
  if (sha256 === null) throw new Error(`environment ${id} is ready without an archive`);
  const url = await deps.bundleAddress(session.project_id, sha256);
  return {
    kind: 'ready',
    environmentId: id,
    archive: { url, sha256, bytes: Number(bytes) },
    installed: [...installed],
  };
}

async function look(
  tx: Transaction,
  project: string,
  { rebuildEveryHours }: EnvironmentPolicy,
  key: string,
): Promise<Found> {
  const rows = await tx.query<EnvironmentRow & { stale: boolean; recent: boolean }>(
    `SELECT ${environmentColumns},
       $3::int IS NOT NULL AND ended_at < now() - 2 * $3::int * interval '1 hour' AS stale,
       ended_at > now() - ${retryAfter} AS recent
     FROM environments WHERE project_id = $1 AND key = $2 ORDER BY started_at DESC LIMIT 50`,
    [project, key, rebuildEveryHours ?? null],
  );
  const first = (state: EnvironmentRow['state']) => rows.find((row) => row.state === state) ?? null;
  const ready = first('ready');
  const failed = rows.find((row) => row.state === 'failed' && row.recent) ?? null;
  const [earlier] = await tx.query(
    `SELECT FROM environments WHERE project_id = $1 AND state = 'ready' AND key <> $2 LIMIT 1`,
    [project, key],
  );
  return {
    ready,
    building: first('building'),
    failed,
    stale: rows.find((row) => row.id === ready?.id)?.stale ?? false,
    earlier: earlier !== undefined,
  };
}

async function decide(
  deps: ResolveDeps,
  tx: Transaction,
  claim: AttemptClaim,
  session: LiveAttempt,
  environment: EnvironmentPolicy,
  needed: ResolveEnvironment,
  found: Found,
): Promise<Decision> {
  const tell = (type: AuditDraft['type'], body: AuditDraft['body']) =>
    deps.audit.append(tx, sessionChain(session.id), [
      { type, subject: deps.self, attempt: claim.attempt, server: claim.serverId, body },
    ]);
  const { ready, failed } = found;
  if (ready !== null && !found.stale) {
    await tx.query('UPDATE environments SET used_at = now() WHERE id = $1', [ready.id]);
    await tx.query('UPDATE sessions SET environment = $2 WHERE id = $1', [session.id, ready.id]);
    await tell('environment.used', {
      environment: ready.id,
      key: needed.key,
      archiveDigest: ready.archive_sha256 ?? '',
    });
    return { kind: 'ready', row: ready };
  }
  const why = whyNot(found);
  if (environment.onMissing === 'proceed') {
    await tell('environment.skipped', { key: needed.key, why });
    return { kind: 'without', why: sentences[why] };
  }
  if (failed !== null && found.building === null)
    return {
      kind: 'failed',
      message: `The environment could not be prepared (${failed.id}, log of session ${failed.session_id}): ${failed.message ?? ''}`,
    };
  const building =
    found.building?.id ??
    (environment.onMissing === 'build'
      ? await beginBuild(deps, tx, {
          project: session.project_id,
          key: needed.key,
          cause: 'session',
          repository: atCommit(session.repository, needed.commit),
          policy: session.policy,
          environment,
          execution: session.execution,
          placementClass: await classOf(tx, session.id),
          pinnedServer: session.pinned_server,
          subject: session.opened_by,
        })
      : null);
  await tell('environment.awaited', {
    key: needed.key,
    why,
    ...(building === null ? {} : { environment: building }),
  });
  await park(deps, tx, session, needed.key, `${sentences[why]} It waits for ${building ?? 'a build of it'}.`);
  return { kind: 'parked' };
}

/** Why a session goes on without: the log has the code, the session's people the sentence. */
const sentences = {
  too_old: 'The environment is stale: it is older than the policy lets it be.',
  changed:
    'The environment is stale: the image, the prepare text or a lockfile has changed since it was built.',
  not_built: 'The environment is missing: it has not been built yet.',
} as const;

function whyNot({ ready, earlier }: Found): keyof typeof sentences {
  if (ready !== null) return 'too_old';
  return earlier ? 'changed' : 'not_built';
}

/** The very commit that the session begins from, so that the build finds the same lockfiles. */
function atCommit(repository: RepositorySource, commit: string): RepositorySource {
  return repository.kind === 'bundle' ? repository : { ...repository, revision: commit };
}

async function classOf(tx: Transaction, session: string): Promise<string> {
  const [row] = await tx.query<{ placement_class: string }>(
    'SELECT placement_class FROM sessions WHERE id = $1',
    [session],
  );
  return row?.placement_class ?? '';
}

async function park(
  deps: ResolveDeps,
  tx: Transaction,
  session: LiveAttempt,
  key: string,
  message: string,
): Promise<void> {
  await tx.query(
    `UPDATE attempts SET state = 'ended', ended_at = now() WHERE session_id = $1 AND state = 'live'`,
    [session.id],
  );
  await changeSessionState(deps.events, tx, session, {
    to: 'pending',
    phase: 'queued',
    message,
    set: { server_id: null, generation: session.generation + 1, waits_for_environment: key },
    stamp: 'queued_at',
  });
}
