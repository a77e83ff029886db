import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { summarisedEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { surfaceRules } from '@lemniscate/shared/session/surface.ts';

/** A session that has to end does not wait longer than this for its last words. Milliseconds. */
export const lastWordsMs = 60_000;

/** Whether a session that ends for this reason says in a last exchange, without tools, how far it came. */
export function hasLastWords({ surface }: Pick<SessionOrder, 'surface'>, reason: EndReason): boolean {
  return surfaceRules[surface].summarisesAtBudgetEnd && summarisedEnds.includes(reason);
}
