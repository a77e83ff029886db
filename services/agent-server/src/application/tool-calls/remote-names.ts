import { modelToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';

/** What a tool is called in policy and record, from what the model calls it. */
export function nameOfTool(order: Pick<SessionOrder, 'remoteTools'>, asked: string): string {
  const remote = order.remoteTools?.find(({ name }) => modelToolName(name) === asked);
  return remote?.name ?? asked;
}
