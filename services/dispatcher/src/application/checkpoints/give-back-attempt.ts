import type { GiveBack } from '@lemniscate/shared/protocol/checkpoint.ts';
import { harmless } from '../events/harmless.ts';
import { readLiveAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { loseAttempt } from '../recovery/lose-attempt.ts';
import type { LoseAttemptDeps } from '../recovery/lose-attempt.ts';

/**
 * Takes an attempt back from a server that could not go on from the session's checkpoint. The work in the checkpoint is
 * tried elsewhere, as often as a server is allowed to be lost; then the diff in the checkpoint is what is offered.
 * @throws CodedError `attempt_stale`
 */
export async function giveBackAttempt(
  deps: LoseAttemptDeps,
  claim: AttemptClaim,
  given: GiveBack,
): Promise<void> {
  await readLiveAttempt(deps.database, claim);
  await loseAttempt(deps, { ...claim, why: 'given_back', told: harmless(given).message });
}
