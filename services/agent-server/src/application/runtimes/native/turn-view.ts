import type { Surface } from '@lemniscate/shared/protocol/session-order.ts';
import { surfaceRules } from '@lemniscate/shared/session/surface.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { subjectSoFar } from '../../tool-calls/read-fragment.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import { nameOfTool } from '../../tool-calls/remote-names.ts';
import { createTextStream, cut } from '../../text-stream.ts';
import type { RuntimeContext } from '../runtime.ts';
import type { CallIds } from './call-ids.ts';
import type { ExchangeListener } from './model-exchange.ts';

/** What a person sees of a turn while the model still writes it. */
export interface TurnView {
  readonly listener: ExchangeListener;
  /** The turn's tool calls by the model's own id, all in `generating`. */
  readonly calls: Map<string, ToolCall>;
  /** The message is whole: the rest of its text is shown. */
  finish(): void;
}

export function listenToTurn(context: RuntimeContext, turn: number, callIds: CallIds): TurnView {
  const { sink, signal } = context;
  const calls = new Map<string, ToolCall>();
  const showFragment = createFragmentView(context.order.surface, calls);
  const text = createTextStream(sink, (piece) => sink.emit({ type: 'text', turn, text: piece }));
  sink.emit({ type: 'turn', turn });

  const cancelAll = (message: string) => {
    for (const call of calls.values()) call.cancel(message);
    calls.clear();
  };
  // An interrupt while the model writes moves its requests to `canceled`.
  const onAbort = () => {
    text.flush();
    cancelAll('The session was interrupted.');
  };
  signal.addEventListener('abort', onAbort, { once: true });

  return {
    calls,
    listener: {
      onChange: async (change) => {
        if (change.kind === 'text') return text.write(change.text, signal);
        if (change.kind === 'arguments') return showFragment(change.id, change.text);
        text.flush();
        const identity = {
          callId: callIds.claim(change.id),
          turn,
          tool: cut(nameOfTool(context.order, change.name), 128),
        };
        calls.set(
          change.id,
          createToolCall((event) => void sink.emit(event), identity),
        );
      },
      onVoid: (why) => {
        text.flush();
        if (calls.size === 0 && signal.aborted) return;
        cancelAll('The answer was cut; the model is asked again.');
        sink.emit({ type: 'notice', text: cut(`${why} The model is asked again.`, 4000) });
      },
    },
    finish: () => {
      signal.removeEventListener('abort', onAbort);
      text.flush();
    },
  };
}

/** Where the surface has it so, shows what a request is about while it is written: seldom, each time half as much again. */
function createFragmentView(
  surface: Surface,
  calls: ReadonlyMap<string, ToolCall>,
): (id: string, text: string) => void {
  const shown = new WeakMap<ToolCall, number>();
  return (id, text) => {
    const call = calls.get(id);
    if (call === undefined || !surfaceRules[surface].parsesFragments) return;
    const subject = subjectSoFar(text);
    const before = shown.get(call) ?? 0;
    if (subject === null || subject.length < (before === 0 ? 1 : before * 1.5 + 16)) return;
    shown.set(call, subject.length);
    call.show(makeVisibleLine(subject));
  };
}
