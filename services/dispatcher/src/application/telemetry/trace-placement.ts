import type { Span, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { SessionRow } from '../sessions/session-row.ts';

/** The span of one try to place a session: below the request that opened it, however long ago. */
export function tracePlacement(
  tracer: Tracer | null,
  session: Pick<SessionRow, 'id' | 'trace_context' | 'runtime' | 'model'>,
  attempt: number,
  serverId: string,
): Span | null {
  if (tracer === null) return null;
  return tracer.start({
    name: 'place session',
    kind: 'consumer',
    parent: session.trace_context,
    attributes: {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'process',
      'gen_ai.conversation.id': session.id,
      'lemniscate.attempt': attempt,
      'lemniscate.server': serverId,
    },
  });
}
