import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { executeTool, invokeAgent } from '@lemniscate/shared/telemetry/gen-ai.ts';
import type { Span, Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import { intermediateToolCallStates } from '@lemniscate/shared/tool-call/state.ts';

/** The spans of one attempt, made from what it reports: the same for every runtime, and its loop knows nothing of it. */
export interface SessionTrace {
  readonly context: string;
  saw(event: ServerEvent): void;
  /** Ends whatever is open. @param abandoned why it was given up; null where it came to an end of its own */
  end(abandoned: string | null): void;
}

/** The attempts of this server that are traced. Exists only while tracing is on. */
export interface SessionTraces {
  begin(order: SessionOrder): SessionTrace;
  /** What a call of an attempt hangs below: its turn, or its tool call; null for one that is not held. */
  contextOf(held: Held): string | null;
  contextOfToken(relayToken: string): string | null;
}

export function createSessionTraces(tracer: Tracer): SessionTraces {
  const current = new Map<string, () => string>();
  const keyOf = ({ sessionId, attempt }: Held): string => `${sessionId}/${attempt}`;
  return {
    begin: (order) => {
      const trace = beginTrace(tracer, order);
      current.set(keyOf(order), trace.innermost);
      current.set(order.relayToken, trace.innermost);
      return {
        ...trace,
        end: (abandoned) => {
          trace.end(abandoned);
          current.delete(keyOf(order));
          current.delete(order.relayToken);
        },
      };
    },
    contextOf: (held) => current.get(keyOf(held))?.() ?? null,
    contextOfToken: (token) => current.get(token)?.() ?? null,
  };
}

/** Steps of an attempt that stand for themselves, by the phase that begins them. */
const steps: Readonly<Record<string, string>> = { finishing: 'finish session', pausing: 'pause session' };

function beginTrace(
  tracer: Tracer,
  order: SessionOrder,
): SessionTrace & { readonly innermost: () => string } {
  const session = tracer.start({
    ...invokeAgent(order),
    kind: 'server',
    parent: order.trace ?? null,
  });
  let step: Span | null = tracer.start({
    name: 'start session',
    kind: 'internal',
    parent: session.context,
  });
  const calls = new Map<string, Span>();

  const next = (name: string | null): void => {
    step?.end();
    step = name === null ? null : tracer.start({ name, kind: 'internal', parent: session.context });
  };
  const sawCall = (event: Extract<ServerEvent, { type: 'tool_call' }>): void => {
    const open = calls.get(event.callId);
    if (!intermediateToolCallStates.includes(event.state)) {
      if (event.state !== 'done') open?.fail(event.state);
      if (event.decidedBy !== undefined) open?.set({ 'lemniscate.decided_by': event.decidedBy });
      open?.end();
      calls.delete(event.callId);
    } else if (open === undefined) {
      const parent = step?.context ?? session.context;
      const span = tracer.start({ ...executeTool(order.sessionId, event.tool), kind: 'internal', parent });
      calls.set(event.callId, span);
    }
  };

  return {
    context: session.context,
    innermost: () => step?.context ?? session.context,
    saw: (event) => {
      if (event.type === 'running') {
        session.set({ 'lemniscate.sandbox.driver': event.driver, 'lemniscate.sandbox.warm': event.warm });
        next(null);
      } else if (event.type === 'turn') next(`turn ${event.turn}`);
      else if (event.type === 'tool_call') sawCall(event);
      else if (event.type === 'phase') {
        const named = steps[event.phase];
        if (named !== undefined) next(named);
      }
    },
    end: (abandoned) => {
      for (const call of calls.values()) {
        call.fail('canceled');
        call.end();
      }
      calls.clear();
      next(null);
      if (abandoned !== null) session.fail(abandoned);
      session.end();
    },
  };
}
