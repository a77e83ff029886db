import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { EnvironmentPolicy } from '@lemniscate/shared/policy/environment.ts';
import { policyDigest } from '@lemniscate/shared/policy/policy-digest.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { queueDelaySeconds } from '@lemniscate/shared/queue/priority.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';

export interface BeginBuildDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  readonly newId: NewId;
  readonly self: string;
}

/** What is to be built, and where. */
export interface Build {
  readonly project: string;
  /** Null: the build itself finds out. */
  readonly key: string | null;
  readonly cause: 'session' | 'person' | 'schedule';
  readonly repository: RepositorySource;
  readonly policy: Policy;
  readonly environment: EnvironmentPolicy;
  readonly execution: string;
  readonly placementClass: string;
  readonly pinnedServer: string | null;
  /** Whose act it is: a person's, or the service's. */
  readonly subject: string;
}

/** What a build's own session is called before anybody who lists sessions. */
const instruction = 'Prepares the environment of the project.';
/** A build is waited for: before what nobody waits for, behind what a person looks at. */
const priority = 'normal';
/** Minutes of a build beside `prepare` itself: packing, the scan, the upload. */
const spareMinutes = 10;

/**
 * Opens the session that prepares an environment: it has the network that the environment's section names, the lockfiles,
 * no model and no tools.
 * @returns the environment's id
 */
export async function beginBuild(deps: BeginBuildDeps, tx: Transaction, build: Build): Promise<string> {
  const id = deps.newId('environment');
  const session = deps.newId('session');
  const policy: Policy = {
    ...build.policy,
    egress: build.environment.egress,
    budgets: { ...build.policy.budgets, maxMinutes: build.environment.maxMinutes + spareMinutes },
  };
  const digest = policyDigest(policy);
  await tx.query(
    `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
       execution, opened_by, policy, policy_digest, pinned_server, follow_ups, placement_class, priority,
       queue_delay_seconds, builds_environment)
     VALUES ($1, $2, 'pending', 'queued', $3, $4, 'native', 'none', 'api', false, $5, $6, $7, $8, $9, false, $10, $11,
       $12, $13)`,
    [
      session,
      build.project,
      instruction,
      JSON.stringify(build.repository),
      build.execution,
      build.subject,
      JSON.stringify(policy),
      digest,
      build.pinnedServer,
      build.placementClass,
      priority,
      queueDelaySeconds(priority),
      id,
    ],
  );
  await tx.query(
    `INSERT INTO environments (id, project_id, key, state, cause, session_id, repository, definition)
     VALUES ($1, $2, $3, 'building', $4, $5, $6, $7)`,
    [
      id,
      build.project,
      build.key,
      build.cause,
      session,
      JSON.stringify(build.repository),
      JSON.stringify(build.environment),
    ],
  );
  await Promise.all([
    tx.query('INSERT INTO outbox (session_id, generation) VALUES ($1, 1)', [session]),
    deps.events.append(tx, session, 0, [
      { type: 'state', state: 'pending', phase: 'queued', reason: null, attempt: 0, server: null },
    ]),
    deps.audit.append(tx, sessionChain(session), [
      {
        type: 'session.opened',
        subject: build.subject,
        body: {
          project: build.project,
          policyDigest: digest,
          instructionCommitment: deps.audit.commit('instruction', instruction),
          repositoryKind: build.repository.kind,
          runtime: 'native',
          surface: 'api',
          interactive: false,
          execution: build.execution,
          kind: build.cause === 'person' ? 'human' : 'automation',
          environment: id,
        },
      },
    ]),
    deps.audit.append(tx, reviewChain(build.project), [
      {
        type: 'environment.requested',
        subject: build.subject,
        body: {
          environment: id,
          project: build.project,
          cause: build.cause,
          session,
          ...(build.key === null ? {} : { key: build.key }),
        },
      },
    ]),
  ]);
  return id;
}
