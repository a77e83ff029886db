import { summarisedEnds } from '../session/end.ts';
import { surfaceRules } from '../session/surface.ts';
import type { Surface } from '../protocol/session-order.ts';

/** Whether a session's last exchange is due: its budget ended it, its surface wants a summary, and none was made yet. */
export function isSummaryDue(session: {
  readonly surface: Surface;
  readonly stop_reason: string | null;
  readonly summary_at: string | null;
}): boolean {
  return (
    session.summary_at === null &&
    summarisedEnds.some((reason) => reason === session.stop_reason) &&
    surfaceRules[session.surface].summarisesAtBudgetEnd
  );
}
