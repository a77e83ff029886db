import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import type { SandboxEndCause } from '../ports/sandbox-driver.ts';
import { asEndReason } from '../tool-calls/run-tool-call.ts';

/** Why and with which words a session ends. */
export interface Ending {
  readonly reason: EndReason;
  readonly message: string;
}

/** Errors that say by themselves why a session ends; everything else depends on how far it had come. */
const reasonsByCode: Partial<Record<ErrorCode, EndReason>> = {
  repository_missing: 'repository_failed',
  repository_empty: 'repository_failed',
  repository_bare: 'repository_failed',
  repository_too_large: 'repository_failed',
  repository_broken: 'repository_failed',
  repository_source_refused: 'repository_failed',
  revision_missing: 'repository_failed',
  large_file_missing: 'repository_failed',
  digest_mismatch: 'repository_failed',
  environment_failed: 'environment_failed',
  sandbox_start_failed: 'start_failed',
  sandbox_driver_missing: 'start_failed',
  provider_unknown: 'model_failed',
  provider_failed: 'model_failed',
  provider_timeout: 'model_failed',
  model_unknown: 'model_failed',
  request_refused_by_gateway: 'model_failed',
  budget_exhausted: 'budget_cost',
};

/** What a sandbox that ended by itself means for its session. */
const endingsByCause: Readonly<Record<SandboxEndCause, Ending>> = {
  destroyed: { reason: 'runtime_failed', message: 'The sandbox was destroyed while the session ran.' },
  exited: { reason: 'runtime_failed', message: 'The sandbox ended by itself.' },
  wire_broken: { reason: 'runtime_failed', message: 'The sandbox no longer answered.' },
  unwatched: {
    reason: 'runtime_failed',
    message: 'The bounds of the sandbox could no longer be read, so it was ended.',
  },
  sandbox_memory: { reason: 'sandbox_memory', message: 'The sandbox used more memory than it may.' },
  sandbox_processes: {
    reason: 'sandbox_processes',
    message: 'The sandbox started more processes than it may.',
  },
  sandbox_cpu: { reason: 'sandbox_cpu', message: 'The sandbox used more processor time than it may.' },
  sandbox_disk: { reason: 'sandbox_disk', message: 'The sandbox wrote more to its disk than it may.' },
};

export type SessionStage = 'starting' | 'working';

/** Maps whatever a step threw to the session's end. Errors without a code tell nothing to the person: they may hold content. */
export function endingOfError(error: unknown, stage: SessionStage): Ending {
  const fallback: EndReason = stage === 'starting' ? 'start_failed' : 'runtime_failed';
  if (!isCodedError(error)) {
    return { reason: fallback, message: 'The agent server met a fault of its own; its log has it.' };
  }
  const budget = error.code === 'budget_exhausted' ? error.details['budget'] : null;
  const reason = typeof budget === 'string' ? asEndReason(budget) : (reasonsByCode[error.code] ?? fallback);
  return { reason, message: error.message };
}

export function endingOfSandbox(cause: SandboxEndCause): Ending {
  return endingsByCause[cause];
}
