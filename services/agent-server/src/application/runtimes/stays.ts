import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { RuntimeEnd } from './runtime.ts';

/** Whether a session waits for its person when its loop has stopped, instead of ending. */
export function stays(
  { followUps }: Pick<SessionOrder, 'followUps'>,
  { interrupted }: { readonly interrupted: boolean },
): boolean {
  return followUps === true || interrupted;
}

/** Whether what would end a session only stops its loop: a person's no, where that person says next what to do instead. */
export function stopsOnlyLoop(
  order: Pick<SessionOrder, 'followUps'>,
  talk: { readonly interrupted: boolean },
  { reason }: Pick<RuntimeEnd, 'reason'>,
): boolean {
  return reason === 'tool_rejected' && stays(order, talk);
}
